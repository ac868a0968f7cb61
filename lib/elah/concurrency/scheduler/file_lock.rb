# frozen_string_literal: true

module Elah
  class Scheduler
    # File#flock in a fiber of the loop. Ruby has no hook for it: a fiber that waited for a lock in C would hold up the fiber that holds the lock,
    # for ever. PStore and YAML::Store wait here too. Of the fibers that wait for a file, the first has a thread in the kernel's line, where other
    # processes wait; the others wait behind it.
    module FileLock
      # @param operation [Integer] bits of File::LOCK_EX, LOCK_SH, LOCK_UN and LOCK_NB
      # @return [Integer, false] 0; false when another one has the lock and LOCK_NB is set
      # @raise [IOError] when the file is closed meanwhile
      def flock(operation)
        scheduler = Fiber.current_scheduler
        if scheduler.is_a?(Scheduler) && operation.is_a?(Integer) && operation.nobits?(File::LOCK_NB)
          # As in the kernel, nobody waits behind others for a shared lock that is free, or to change a lock that the file has.
          granted = super(operation | File::LOCK_NB) if @elah_is_locked || operation.nobits?(File::LOCK_EX)
          granted ||= scheduler.lock_in_turn(self, operation)
        else
          granted = super
        end
        @elah_is_locked = granted && operation != File::LOCK_UN unless frozen?
        granted
      end

      ::File.prepend(self)
    end
  end
end
