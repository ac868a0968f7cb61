# frozen_string_literal: true

module Elah
  class Scheduler
    # Mutex#sleep, through which ConditionVariable and Monitor wait. Until Ruby 3.2 a fiber that is ended in it, by a deadline or a client that
    # goes away, comes back without the lock: the rest of the block would run unguarded, and its unlock fail with a ThreadError.
    module MutexSleep
      # @param timeout [Numeric, nil] seconds
      # @return [Integer, nil] as of Mutex#sleep
      # @raise [Exception] what ended the wait, when the lock is held again
      def sleep(timeout = nil)
        super
      rescue Exception
        unless owned?
          task = Elah.current_loop&.current_task
          task ? task.shielded { lock } : lock
        end
        raise
      end

      Thread::Mutex.prepend(self) if RUBY_VERSION < "3.2"
    end
  end
end
