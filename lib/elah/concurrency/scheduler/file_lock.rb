# frozen_string_literal: true

module Elah
  class Scheduler
    # File#flock in a fiber of the loop. Ruby has no hook for it: a fiber that waited for a lock in C would hold up the fiber that holds the lock,
    # for ever. PStore and YAML::Store wait here too. A lock is granted only by a call that does not wait, so a cancelled fiber never leaves one.
    module FileLock
      # The fibers of one loop that wait for locks. Each file has its own line, and only the first fiber in it tries to get the lock.
      class Lines
        # Pause between two attempts.
        PAUSE_SECONDS = 0.002

        # @param scheduler [Scheduler]
        def initialize(scheduler)
          @scheduler = scheduler
          @lines = {}
        end

        # Waits until it is the turn of the calling fiber and the lock is granted.
        #
        # @param file [File]
        # @yieldreturn [Integer, false] of an attempt to get the lock
        # @return [Integer] 0
        def wait(file)
          stat = file.stat
          line = @lines[key = [stat.dev, stat.ino]] ||= Semaphore.new(1, queue_max: Float::INFINITY)
          line.acquire do
            @scheduler.block(:flock, PAUSE_SECONDS) until (granted = yield)
            granted
          end
        ensure
          @lines.delete(key) if line&.free == 1
        end
      end

      # @param operation [Integer] bits of File::LOCK_EX, LOCK_SH, LOCK_UN and LOCK_NB
      # @return [Integer, false] 0; false when another one has the lock and LOCK_NB is set
      # @raise [IOError] when the file is closed meanwhile
      def flock(operation)
        scheduler = Fiber.current_scheduler
        if scheduler.is_a?(Scheduler) && operation.is_a?(Integer) && operation.nobits?(File::LOCK_NB)
          attempt = -> { super(operation | File::LOCK_NB) }
          # As in the kernel, nobody waits behind others for a shared lock that is free, or to change a lock that the file has.
          granted = attempt.call if @elah_is_locked || operation.nobits?(File::LOCK_EX)
          granted ||= scheduler.file_locks.wait(self, &attempt)
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
