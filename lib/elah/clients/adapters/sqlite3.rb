# frozen_string_literal: true

module Elah
  module Adapters
    # The sqlite3 adapter. A statement runs in C and keeps Ruby's lock, so a thread would not help. But a statement that finds the database locked
    # by another connection calls a handler, in which only its fiber waits.
    module SQLite3
      # @return [Boolean] whether the gem is loaded
      def self.install
        return false unless defined?(::SQLite3::Database)

        ::SQLite3::Database.prepend(DatabasePatch) unless ::SQLite3::Database < DatabasePatch
        true
      end

      # Prepended to SQLite3::Database.
      module DatabasePatch
        # How long a fiber waits before it tries the locked database again.
        RETRY_SECONDS = 0.001

        # Waits for another connection's lock by asking again every millisecond.
        #
        # @param milliseconds [Integer] the longest wait; after it the statement raises SQLite3::BusyException
        def busy_timeout=(milliseconds)
          give_up_at = nil
          busy_handler do |attempts|
            now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
            give_up_at = now + milliseconds / 1000.0 if attempts.zero?
            now < give_up_at && wait_for_lock
          end
        end
        alias busy_timeout busy_timeout=

        private

        # No exception may pass through SQLite: a cancelled fiber gets it at its next wait.
        def wait_for_lock
          Thread.handle_interrupt(Exception => :never) { sleep RETRY_SECONDS }
          true
        rescue Exception => e # -- it is raised later
          task = Elah.current_loop&.current_task
          task&.postpone(e, task.shields(e))
          false
        end
      end
    end
  end
end
