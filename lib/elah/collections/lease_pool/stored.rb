# frozen_string_literal: true

module Elah
  class LeasePool
    # A lease pool whose rows are in a table. A call returns when its rows are on disk, so a returned lease survives `kill -9`. Calls that wait at
    # the same time share a sync. Reads are those of {LeasePool}.
    #
    # A call that raises {Elah::Store::Error}, or is cancelled while it waits, may have happened. Its item may be held until the hold ends.
    class Stored
      # Rows that one transaction stores. A deletion counts as two of the 100,000 operations that a transaction may have.
      ROWS_MAX = 25_000
      private_constant :ROWS_MAX

      # @api private
      # @param pool [LeasePool] that has written its rows for the table
      # @param table [Elah::Store::Table]
      # @param ownership [Elah::Store::Ownership]
      def initialize(pool, table, ownership)
        @pool = pool
        @table = table
        @ownership = ownership
        @mutex = Mutex.new
        @writes = {}.compare_by_identity
        @failed = @kept = nil
        write { nil }
      end

      # @!method lease(session: nil, item: nil, data: "")
      #   (see Elah::LeasePool#lease)
      # @!method lease!(session: nil, item: nil, data: "")
      #   (see Elah::LeasePool#lease!)
      # @!method lease_all(requests)
      #   (see Elah::LeasePool#lease_all)
      # @!method lease_all_json(requests)
      #   (see Elah::LeasePool#lease_all_json)
      # @!method renew(id)
      #   (see Elah::LeasePool#renew)
      # @!method release(id)
      #   (see Elah::LeasePool#release)
      # @!method resize(items)
      #   (see Elah::LeasePool#resize)
      # @!method change(hold: nil, quarantine: nil, policy: nil, draining: nil)
      #   (see Elah::LeasePool#change)
      # @!method drain
      #   (see Elah::LeasePool#drain)
      # @!method resume
      #   (see Elah::LeasePool#resume)
      %i[lease lease! lease_all lease_all_json renew release resize change drain resume].each do |name|
        is_list = name.start_with?("lease_all")
        define_method(name) { |*arguments, **keywords| write(is_list) { @pool.public_send(name, *arguments, **keywords) } }
      end

      # @!method find(id)
      #   (see Elah::LeasePool#find)
      # @!method statistics
      #   (see Elah::LeasePool#statistics)
      # @!method items
      #   (see Elah::LeasePool#items)
      # @!method leases
      #   (see Elah::LeasePool#leases)
      # @!method overflows
      #   (see Elah::LeasePool#overflows)
      # @!method draining?
      #   (see Elah::LeasePool#draining?)
      %i[find statistics items leases overflows draining?].each do |name|
        define_method(name) do |*arguments|
          @ownership.check
          @pool.public_send(name, *arguments)
        end
      end

      # @return [Integer] see {LeasePool#now}
      def now = @pool.now

      # The holder of an item at some time.
      #
      # @param item [Integer]
      # @param at [Integer] microseconds since 1970
      # @return [Holder, nil]
      def holder(item, at: now) = LeasePool.holder(@table, item, at: at, name: @pool.name)

      # @return [String]
      def inspect = "#<#{self.class} of #{items.size} items in #{@table.name}>"

      private

      # Without rows the value may be the lease of a call whose row is not stored yet, and a list may have some. If such a write fails, this call
      # stores the pool, or waits for the call that does.
      def write(is_list = false, &change)
        value, rows, others, failed = apply(&change)
        @ownership.check if rows.empty? # a write checks it too
        while others.any? && (is_list || (value && rows.empty?))
          others.each(&:pop)
          break if @failed.equal?(failed)

          _, rows, others, failed = apply { nil }
        end
        value
      end

      # Stores what the block changes. After a write with an unknown outcome the next one stores the whole pool.
      #
      # @return [Array] the block's value, the rows that are stored, the writes that had not ended before, queues that are closed at their end, and
      #   the last write that had failed
      def apply
        rows = value = others = failed = nil
        interrupted(:never) do
          @mutex.synchronize do
            failed = @failed
            @pool.keep unless failed.equal?(@kept)
            @kept = failed
            value = yield
            others = @writes.values
            rows = @pool.take_rows
            @writes[rows] = Thread::Queue.new unless rows.empty?
          end
          interrupted(:immediate) { put(rows) }
          is_stored = true
          [value, rows, others, failed]
        ensure
          end_write(rows, is_stored) unless rows.nil? || rows.empty?
        end
      end

      # Another thread may raise an exception between any two lines, as Timeout does. In a loop it comes at a wait.
      def interrupted(timing)
        Fiber.current_scheduler ? yield : Thread.handle_interrupt(Object => timing) { yield }
      end

      def end_write(rows, is_stored)
        @failed = @writes[rows] unless is_stored
        @writes.delete(rows).close
      end

      # In their order, so that a process that is killed in between leaves a pool of the same leases.
      def put(rows)
        rows.each_slice(ROWS_MAX) do |slice|
          @ownership.transaction { |tx| slice.each { |row, content| content ? tx.put(@table, row, content) : tx.delete(@table, row) } }
        end
      end
    end
  end
end
