# frozen_string_literal: true

require_relative "interval"

module Elah
  class Scheduler
    # Mutex#sleep, through which ConditionVariable and Monitor wait, in a fiber of the loop. A cancellation would end Ruby's own wait for the lock.
    # The rest of the block would run unguarded, its unlock would raise a ThreadError, and nobody could enter a Monitor any more. Ruby's own would
    # not return nil after a timeout either.
    module MutexSleep
      # @param timeout [Numeric, nil] seconds
      # @return [Integer, nil] seconds that it slept; nil after the timeout
      # @raise [TypeError, ArgumentError] see {Interval}
      # @raise [Exception] what cancelled the fiber meanwhile, once the lock is held again
      def sleep(timeout = nil)
        scheduler = Fiber.current_scheduler
        return super unless scheduler.is_a?(Scheduler)

        Interval.check(timeout)
        task = scheduler.event_loop.waiting_task
        began_at = Concurrency.now
        unlock
        begin
          woken = scheduler.block(self, timeout) # by this name a ConditionVariable wakes it
        ensure
          task.shielded { lock }
        end
        task.raise_postponed
        (Concurrency.now - began_at).to_i if woken
      end

      Thread::Mutex.prepend(self)
    end
  end
end
