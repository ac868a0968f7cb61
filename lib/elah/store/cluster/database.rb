# frozen_string_literal: true

require_relative "schema"

module Elah
  class Store
    class Cluster
      # The connections of a cluster: what its statements raise, and whether it accepts writes.
      class Database
        HIDDEN = "The store is not available: try again later."
        FULL = "The store is full: the disk of its database has no room."
        # Interval between two probes of {#check}.
        PROBE_SECONDS = 1
        # A write-ahead record and a commit, without a row: what fails if the disk, or a synchronous standby, does. In a session that is read-only it
        # is refused, so that the session ends; the record alone would not be.
        PROBE = "SELECT CASE current_setting('transaction_read_only') WHEN 'off' THEN pg_logical_emit_message(true, 'elah', '') IS NOT NULL " \
                "ELSE nextval(pg_get_serial_sequence('elah_tables', 'tbl')) IS NOT NULL END"
        # Rolled back.
        ROOM = "INSERT INTO elah_rows (tbl, key, value) VALUES (0, $1, $2)"
        ROOM_BYTES = 64 * 1024

        # @return [String] `host:port/database`
        attr_reader :server

        # @return [String, nil] why the database is known to accept no writes
        attr_reader :trouble

        # @param url [String]
        # @param bounds [Hash{Symbol=>Numeric}] of {Elah::SQL#initialize}
        # @raise [Elah::OptionError]
        def initialize(url, bounds)
          @sql = SQL.new(url, **bounds)
          @server = @sql.server
          @probed_at = -Float::INFINITY
        end

        # @yieldparam sql [Elah::SQL]
        # @return [Object] the block's value
        # @raise [Store::Error]
        def read
          yield @sql
        rescue Elah::Unavailable, SQL::Error => e
          raise translate(e, is_write: false)
        end

        # @yieldparam sql [Elah::SQL]
        # @return [Object] the block's value
        # @raise [Store::Error]
        # @raise [Elah::SQL::Error] 22003, a number out of range, which the caller knows more about
        def write
          value = yield @sql
          @trouble = nil unless @trouble == FULL # another write may need less room
          value
        rescue Elah::Unavailable, SQL::Error => e
          raise if e.is_a?(SQL::Error) && e.sqlstate == "22003"

          raise translate(e, is_write: true)
        end

        # Finds out whether the database accepts writes, at most once in {PROBE_SECONDS}.
        #
        # @return [String, nil] why it does not
        def check
          now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
          return @trouble if now - @probed_at < PROBE_SECONDS

          @probed_at = now
          probe
          @trouble
        end

        # Another connection of this process found it full. {#check} finds out when there is room again.
        def found_full = @trouble = FULL

        # @return [Clients::SQL]
        def native = @sql.native

        # @return [nil]
        def close = @sql.close

        # @return [Boolean]
        def closed? = @sql.closed?

        private

        def probe
          write { |sql| sql.value(PROBE) }
          return unless @trouble == FULL

          write { |sql| probe_room(sql) }
          @trouble = nil
        rescue Store::Error => e
          @trouble ||= e.message
        end

        # Only a row that is written shows that there is room for one.
        def probe_room(sql)
          sql.transaction do |tx|
            tx.execute(ROOM, Random.bytes(16), Random.bytes(ROOM_BYTES))
            break
          end
        end

        def translate(error, is_write:)
          case error
          when SQL::Closed then Closed.new("The store is closed.")
          when PoolExhausted then Busy.new(error.message, detail: HIDDEN)
          when Elah::Unavailable
            is_sent = !error.message.start_with?("#{@server} cannot be reached")
            unavailable(Unavailable, error.message, may_have_run: is_write && is_sent)
          else refused(error)
          end
        end

        # What the database replied with. It has stored nothing.
        def refused(error)
          case error
          when SQL::SerializationFailure then Conflict.new(error.message, detail: HIDDEN)
          when SQL::AuthenticationFailed then unavailable(CannotOpen, error.message)
          else
            case error.sqlstate
            when "25006" then read_only
            when "53100" then unavailable(Full, FULL)
            when /\A5[34]/ then Busy.new(error.message, detail: HIDDEN)
            else unavailable(Failed, error.message)
            end
          end
        end

        def read_only = unavailable(Unavailable, "The database #{@server} is read-only.")

        def unavailable(error_class, message, **details)
          @trouble = message
          error_class.new(message, detail: error_class == Full ? nil : HIDDEN, **details)
        end
      end

      private_constant :Database
    end
  end
end
