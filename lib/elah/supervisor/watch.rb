# frozen_string_literal: true

module Elah
  class Supervisor
    # Judges the workers by what they write on the board: whose loop stands still, who leaves requests without a fiber, who has grown
    # too large.
    class Watch
      # A look that comes later than this counts no more: then it was the supervisor that slept.
      LOOK_SECONDS_MAX = 0.5

      # @param board [Elah::Board]
      # @param config [Elah::Config]
      # @param log [Elah::Log]
      def initialize(board, config, log)
        @board = board
        @config = config
        @log = log
      end

      # Kills a worker that is stuck.
      #
      # @param child [Child]
      # @param now [Float]
      def look(child, now)
        return if child.killed_for

        return if boots?(child, now)

        silent = child.silent_seconds(@board.seat_value(child.seat, :heartbeat_ms), now, LOOK_SECONDS_MAX)
        return kill(child, "has not turned its loop for #{silent.round(1)} s") if silent > @config.hang_seconds

        since = @board.seat_value(child.seat, :unserved_since_ms)
        unserved = since.zero? ? 0 : (Board.now_ms - since) / 1000.0
        kill(child, "has begun no request for #{unserved.round(1)} s while some waited") if unserved > @config.hang_seconds
      end

      # @param child [Child]
      # @return [Boolean] whether it has outgrown `worker_bytes_max`
      def too_large?(child)
        bound = @config.worker_bytes_max
        bound.positive? && @board.seat_value(child.seat, :rss_bytes) > bound
      end

      # @return [Boolean] whether every worker that serves turns its loop
      def healthy?(children)
        now = Board.now_ms
        served = children.select(&:ready?)
        served.any? && served.all? { |child| now - @board.seat_value(child.seat, :heartbeat_ms) < @config.hang_seconds * 1000 }
      end

      private

      def boots?(child, now)
        return false if child.ready?

        kill(child, "has not booted within #{@config.boot_seconds} s", :boot_failures) if child.age(now) > @config.boot_seconds
        true
      end

      # What stands in its way is in the log already: the worker reports the line itself, as far as it can.
      def kill(child, reason, counter = :hangs)
        @log.error("#{child} #{reason}: it is killed and replaced")
        child.killed_for = counter
        child.kill(:KILL)
      end
    end
  end
end
