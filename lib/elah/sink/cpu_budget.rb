# frozen_string_literal: true

module Elah
  class Sink
    # The CPU budget of a delivery: a share of its thread's CPU time while requests arrive, and all idle time. After a batch the delivery pauses
    # until requests have used their share. Its own share grows with the backlog, so that no event is refused while it could be delivered.
    #
    # It counts CPU time, not elapsed time: a batch that waits for its destination costs requests nothing.
    class CpuBudget
      # Longest single pause; after it the budget checks again whether requests arrive.
      PAUSE_SECONDS_MAX = 0.01
      # Timers have a resolution of a millisecond: a shorter pause is not worth it.
      PAUSE_SECONDS_MIN = 0.0005
      # A loop that is busy for a smaller share of the time has idle time.
      BUSY = 0.25
      # Pressure from which the share grows, and pressure at which it is 1.0.
      PRESSURE = (0.5..0.9).freeze
      private_constant :PAUSE_SECONDS_MAX, :PAUSE_SECONDS_MIN, :BUSY, :PRESSURE

      # @param share [Float] share of the CPU time of requests and delivery, above 0.0 and up to 1.0; with 1.0 the delivery never pauses
      # @param pause [#call] waits for the given number of seconds
      # @param requests [#call] returns the number of requests that have begun
      # @param cpu [#call] returns the CPU time of this thread, in seconds
      # @param clock [#call] returns seconds
      # @yieldreturn [Float] how urgent the delivery is, from 0.0 to 1.0
      def initialize(share, pause:, requests: -> { Elah.current_loop.counts[:requests] },
                     cpu: -> { Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID) }, clock: Concurrency.method(:now), &pressure)
        @share = share
        @pause = pause
        @requests = requests
        @cpu = cpu
        @clock = clock
        @pressure = pressure
        @seen = @since = nil
        @used = 0.0
      end

      # Runs the block once the CPU time of the previous one is paid for.
      #
      # @param task [Elah::Task] the task that runs the block
      # @return [Object] the block's value
      def run(task)
        pay
        @used = 0.0
        task.observer = self
        start
        yield
      ensure
        task.observer = nil
        stop
      end

      # The task waits: other tasks use the thread from now on.
      #
      # @return [void]
      def stop
        @used += @cpu.call - @since if @since
        @since = nil
      end

      # The task uses the thread again.
      #
      # @return [void]
      def start
        @since = @cpu.call
      end

      private

      def pay
        paid = 0.0
        while requested? && (owed = (@used * ((1 / share) - 1)) - paid) > PAUSE_SECONDS_MIN
          paid += used_by_others([owed, PAUSE_SECONDS_MAX].min)
        end
      end

      # Whether a request has arrived since the last check.
      def requested?
        seen = @seen
        @seen = @requests.call
        seen != @seen
      end

      # The CPU time that other tasks use during a pause; infinite if the loop had idle time.
      def used_by_others(seconds)
        since = @clock.call
        before = @cpu.call
        @pause.call(seconds)
        used = @cpu.call - before
        used < (@clock.call - since) * BUSY ? Float::INFINITY : used
      end

      def share
        grown = (@pressure.call - PRESSURE.begin) / (PRESSURE.end - PRESSURE.begin)
        @share + ((1 - @share) * grown.clamp(0.0, 1.0))
      end
    end
  end
end
