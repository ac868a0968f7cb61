# frozen_string_literal: true

module Elah
  class Supervisor
    # Health checks of the workers by their cells on the scoreboard: a loop that stands still, requests that get no fiber, too much memory.
    class Watch
      # @param scoreboard [Elah::Scoreboard]
      # @param config [Elah::Config]
      # @param log [Elah::Log]
      def initialize(scoreboard, config, log)
        @scoreboard = scoreboard
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

        silent = child.silent_seconds(@scoreboard.row_value(child.row, :heartbeat_ms), now)
        return kill(child, "has not run its loop for #{silent.round(1)} s") if silent > @config.hang_seconds

        unserved = child.unserved_seconds(@scoreboard.row_value(child.row, :unserved_since_ms), now)
        kill(child, "has started no request for #{unserved.round(1)} s while some were waiting") if unserved > @config.hang_seconds
      end

      # @param child [Child]
      # @return [Boolean] whether it has outgrown `worker_bytes_max`
      def too_large?(child)
        bound = @config.worker_bytes_max
        bound.positive? && bytes(child) > bound
      end

      # @param child [Child]
      # @return [Boolean] whether it drains, as after a TERM of its own
      def drains?(child) = @scoreboard.state(child.row) == :draining

      # @param child [Child] one that is too large
      # @param now [Float]
      # @return [String] its size, for the log
      def size(child, now)
        "#{bytes(child)} bytes #{(now - child.ready_at).round(1)} s after it was ready, more than worker_bytes_max (#{@config.worker_bytes_max})"
      end

      # @return [Boolean] whether the loops of all ready workers run; those that boot, or wait for their next start, have their own limits
      def healthy?(children)
        now = Scoreboard.now_ms
        children.select(&:ready?).all? { |child| now - @scoreboard.row_value(child.row, :heartbeat_ms) < @config.hang_seconds * 1000 }
      end

      private

      def bytes(child) = @scoreboard.row_value(child.row, :anonymous_bytes)

      def boots?(child, now)
        return false if child.ready?

        kill(child, "has not booted within #{@config.boot_seconds} s", :boot_failures) if child.boot_seconds(now) > @config.boot_seconds
        true
      end

      # The worker itself has logged the blocking line, as far as it can.
      def kill(child, reason, counter = :hangs)
        @log.error("#{child} #{reason}: killing and replacing it")
        child.killed_for = counter
        child.kill(:KILL)
      end
    end
  end
end
