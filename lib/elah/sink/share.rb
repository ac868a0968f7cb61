# frozen_string_literal: true

module Elah
  class Sink
    # Owns how much of its thread a delivery takes while that thread has requests to answer: a share of the CPU time, so that what a batch
    # has used is paid for by the requests that come after it. What requests leave over is the delivery's, and the share grows with what
    # waits: nothing is to be refused that could have been delivered.
    #
    # It counts CPU time and not the time that passes: a batch that waits for its destination costs requests nothing.
    class Share
      # The longest rest at once, after which it looks again whether requests still come.
      REST_SECONDS_MAX = 0.01
      # Timers are no finer than a millisecond: less is not worth a rest.
      REST_SECONDS_MIN = 0.0005
      # A loop that is at work for less of the time has time to spare.
      BUSY = 0.25
      # From which pressure on the share grows, and at which it is the whole.
      PRESSURE = (0.5..0.9).freeze
      private_constant :REST_SECONDS_MAX, :REST_SECONDS_MIN, :BUSY, :PRESSURE

      # @param share [Float] of the CPU time that requests and delivery take, above 0.0 and up to 1.0, which never rests
      # @param pause [#call] waits so many seconds
      # @param requests [#call] how many requests have begun
      # @param cpu [#call] CPU time of this thread, in seconds
      # @param clock [#call] seconds
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

      # Runs the block when what the one before it has used is paid for.
      #
      # @param task [Elah::Task] that it runs in
      # @return [Object] the block's value
      def take_turn(task)
        rest
        @used = 0.0
        task.meter = self
        go_on
        yield
      ensure
        task.meter = nil
        stop
      end

      # The task waits: from now on others use the thread.
      #
      # @return [void]
      def stop
        @used += @cpu.call - @since if @since
        @since = nil
      end

      # The task has the thread again.
      #
      # @return [void]
      def go_on
        @since = @cpu.call
      end

      private

      def rest
        paid = 0.0
        while requested? && (owed = (@used * ((1 / share) - 1)) - paid) > REST_SECONDS_MIN
          paid += used_by_others([owed, REST_SECONDS_MAX].min)
        end
      end

      # Whether a request came since the last look.
      def requested?
        seen = @seen
        @seen = @requests.call
        seen != @seen
      end

      # The CPU time of a rest; without end where there was time to spare.
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
