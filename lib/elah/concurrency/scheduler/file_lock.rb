# frozen_string_literal: true

module Elah
  class Scheduler
    # File#flock in a fiber of the loop. Ruby has no hook for it: a fiber that waited for a lock in C would hold up the fiber that holds the lock,
    # for ever. PStore and YAML::Store wait here too. A lock is granted only by a call that does not wait, so a cancelled fiber never leaves one.
    module FileLock
      # Pause before the second attempt. Each further one is twice as long.
      PAUSE_MIN_SECONDS = 0.001
      PAUSE_MAX_SECONDS = 0.05
      private_constant :PAUSE_MIN_SECONDS, :PAUSE_MAX_SECONDS

      # @param operation [Integer] bits of File::LOCK_EX, LOCK_SH, LOCK_UN and LOCK_NB
      # @return [Integer, false] 0; false when another one has the lock and LOCK_NB is set
      # @raise [IOError] when the file is closed meanwhile
      def flock(operation)
        scheduler = Fiber.current_scheduler
        return super unless scheduler.is_a?(Scheduler) && operation.is_a?(Integer) && (operation & File::LOCK_NB).zero?

        pause = PAUSE_MIN_SECONDS
        until (granted = super(operation | File::LOCK_NB))
          scheduler.block(:flock, pause)
          pause = [pause * 2, PAUSE_MAX_SECONDS].min
        end
        granted
      end

      ::File.prepend(self)
    end
  end
end
