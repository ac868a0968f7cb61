# frozen_string_literal: true

module Elah
  module Adapters
    # Owns how sqlite3 runs on the loop. A statement runs in C and keeps Ruby's lock, so that no thread could take it off the loop;
    # but a statement that finds the database locked by another connection asks what to do, and then its fiber alone waits.
    module SQLite3
      # @return [Boolean] whether the gem is loaded
      def self.install
        return false unless defined?(::SQLite3::Database)

        ::SQLite3::Database.prepend(Cooperation) unless ::SQLite3::Database < Cooperation
        true
      end

      # What is prepended to SQLite3::Database.
      module Cooperation
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

        # No exception may pass through SQLite: who is cancelled here meets it at the next wait.
        def wait_for_lock
          Thread.handle_interrupt(Exception => :never) { sleep RETRY_SECONDS }
          true
        rescue Exception => e # -- it is raised later
          task = Elah.current_loop&.current_task
          task&.postpone(e, task.shields)
          false
        end
      end
    end
  end
end
