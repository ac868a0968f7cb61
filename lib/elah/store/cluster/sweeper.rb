# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # The thread of a process that removes expired entries of a cluster, and finds out whether a database that refused accepts writes again.
      class Sweeper
        # Rows of one statement. Those that another process removes are left to it.
        BATCH = 1000
        DELETE = "DELETE FROM elah_rows r USING (SELECT tbl, key FROM elah_rows WHERE expires_at <= #{format(Schema::NOW, 'now()')} " \
                 "ORDER BY expires_at LIMIT #{BATCH} FOR UPDATE SKIP LOCKED) old WHERE r.tbl = old.tbl AND r.key = old.key".freeze

        # @param database [Database]
        # @param seconds [Numeric] between two sweeps
        def initialize(database, seconds)
          @database = database
          @seconds = seconds
          @lock = Mutex.new
          @end = ConditionVariable.new
        end

        # Starts the thread, unless it runs.
        def start
          return if @thread

          @lock.synchronize { @thread ||= Thread.new { run }.tap { |thread| thread.thread_variable_set(:fork_safe, true) } unless @is_over }
        end

        # A fork has no thread of its parent.
        def forked
          @lock = Mutex.new
          @end = ConditionVariable.new
          @thread = nil
        end

        # Ends the thread, after the statement that it waits for.
        def stop
          @lock.synchronize do
            @is_over = true
            @end.signal
          end
        end

        # @return [Integer] number of removed entries
        # @raise [Store::Error]
        def sweep
          removed = 0
          loop do
            count = @database.write { |sql| sql.execute(DELETE) }.affected_rows
            removed += count
            return removed if count < BATCH
          end
        end

        private

        def run
          Thread.current.name = "elah-cluster"
          until over?
            begin
              @database.check if @database.trouble
              sweep
            rescue Store::Error
              nil # the next sweep tries again, and the log has it: Store.troubles
            rescue StandardError => e
              Log.current.exception(e, "The expired entries of #{@database.server} could not be removed; the next sweep tries again")
            end
          end
        end

        # Waits until the next sweep. Processes that were started together come at different times.
        def over?
          @lock.synchronize do
            @end.wait(@lock, @seconds * (0.75 + rand / 2)) unless @is_over
            @is_over
          end
        end
      end

      private_constant :Sweeper
    end
  end
end
