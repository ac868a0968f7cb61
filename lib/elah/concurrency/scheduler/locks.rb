# frozen_string_literal: true

require "monitor"

module Elah
  class Scheduler
    # Locks of fibers on Ruby 3.1. Its unlock sets a lock free, then calls the scheduler of the fiber that waits first, and only then takes the lock
    # off the list of those that its thread holds (`rb_mutex_unlock_th` in thread_sync.c). A thread that takes the lock in between breaks both lists:
    # two are inside the lock, or the process aborts. So no fiber of a loop waits in Ruby's line: it waits in one of Elah, and tries.
    # @api private
    module Locks
      # Times between the tries of the first fiber in a line. Fibers of its loop wake it when they unlock; threads and native code do not.
      PAUSE_SECONDS = 0.0005
      PAUSE_SECONDS_MAX = 0.005

      # It raises in a trap. A Mutex that stays locked would crash Ruby when it is freed after its fiber.
      RUBYS_SYNCHRONIZE = Thread::Mutex.instance_method(:synchronize)
      private_constant :PAUSE_SECONDS, :PAUSE_SECONDS_MAX, :RUBYS_SYNCHRONIZE

      # @param lock [Thread::Mutex, Monitor]
      # @return [Boolean] whether fibers wait for it
      def line?(lock) = !@lines_of_locks.nil? && @lines_of_locks.key?(lock)

      # Waits until no fiber is before the calling one, and then until the block takes the lock.
      #
      # @param lock [Thread::Mutex, Monitor]
      # @yieldreturn [Boolean] whether it is taken
      # @raise [ThreadError] in a trap
      # @raise [Elah::OutsideLoop] in the loop itself
      def wait_in_line(lock)
        RUBYS_SYNCHRONIZE.bind_call(Thread::Mutex.new) { nil }
        return if true_while_loading? { yield } # see Autoload

        line = (@lines_of_locks ||= {}.compare_by_identity)[lock] ||= {}.compare_by_identity
        line[fiber = Fiber.current] = true
        begin
          block(lock) until line.first[0].equal?(fiber)
          pause = PAUSE_SECONDS
          block(lock, pause = [pause * 2, PAUSE_SECONDS_MAX].min) until yield
        ensure
          line.delete(fiber)
          line.empty? ? @lines_of_locks.delete(lock) : wake_first(lock) # it tries from now on
        end
      end

      # @param lock [Thread::Mutex, Monitor] one that a fiber of the loop gives free, or whose line has another first fiber
      def wake_first(lock) = line?(lock) && unblock(lock, @lines_of_locks[lock].first[0])

      # Prepended to Thread::Mutex.
      # @api private
      module OfMutex
        # @return [Thread::Mutex] itself
        def lock
          scheduler = Fiber.current_scheduler
          return super unless scheduler.is_a?(Scheduler)
          return self if !scheduler.line?(self) && try_lock
          return super if owned? # which raises

          scheduler.wait_in_line(self) { try_lock }
          self
        end

        # @return [Thread::Mutex] itself
        def unlock
          super
          scheduler = Fiber.current_scheduler
          scheduler.wake_first(self) if scheduler.is_a?(Scheduler)
          self
        end

        # Ruby's own takes a free lock at once, and no exception of another thread, such as a Timeout around `Elah.run`, comes between that and the
        # block.
        #
        # @return [Object] the block's value
        def synchronize
          scheduler = Fiber.current_scheduler
          return super if owned? || !scheduler.is_a?(Scheduler)

          is_free = !scheduler.line?(self) && !locked? # in this order: no thread runs between the last one and `super`
          begin
            return super if is_free

            lock
            yield
          ensure
            is_free ? scheduler.wake_first(self) : (unlock if owned?)
          end
        end
      end

      # Prepended to Monitor.
      # @api private
      module OfMonitor
        # @return [nil]
        def enter
          scheduler = Fiber.current_scheduler
          return super unless scheduler.is_a?(Scheduler)
          return if (mon_owned? || !scheduler.line?(self)) && try_enter

          scheduler.wait_in_line(self) { try_enter }
          nil
        end

        # @return [nil]
        def exit
          super
          scheduler = Fiber.current_scheduler
          scheduler.wake_first(self) if scheduler.is_a?(Scheduler)
          nil
        end

        # The fiber that it wakes runs when this one waits, and has given the lock free.
        #
        # @param condition [Thread::ConditionVariable]
        # @param timeout [Numeric, nil] seconds
        # @return [true]
        def wait_for_cond(condition, timeout)
          scheduler = Fiber.current_scheduler
          scheduler.wake_first(self) if scheduler.is_a?(Scheduler)
          super
        end

        # As that of {OfMutex}.
        #
        # @return [Object] the block's value
        def synchronize
          scheduler = Fiber.current_scheduler
          return super if mon_owned? || !scheduler.is_a?(Scheduler)

          is_free = !scheduler.line?(self) && !mon_locked?
          begin
            return super if is_free

            enter
            yield
          ensure
            is_free ? scheduler.wake_first(self) : (self.exit if mon_owned?)
          end
        end

        alias mon_enter enter
        alias mon_exit exit
        alias mon_synchronize synchronize
      end
    end

    if RUBY_VERSION < "3.2"
      include Locks
      Thread::Mutex.prepend(Locks::OfMutex)
      Monitor.prepend(Locks::OfMonitor)
    end
  end
end
