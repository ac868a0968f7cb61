# frozen_string_literal: true

module Elah
  class Scheduler
    # Mutex#sleep, through which ConditionVariable and Monitor wait. Until Ruby 3.2, a fiber that is cancelled in it returns without the lock. The
    # rest of the block would run unguarded, and its unlock would fail with a ThreadError.
    module MutexSleep
      # @param timeout [Numeric, nil] seconds
      # @return [Integer, nil] as Mutex#sleep
      # @raise [Exception] the exception that ended the wait, once the lock is held again
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
