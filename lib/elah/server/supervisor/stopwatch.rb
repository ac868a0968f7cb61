# frozen_string_literal: true

module Elah
  class Supervisor
    # How long a value has not changed *while the supervisor was running*: after a suspended machine no worker is late.
    class Stopwatch
      # The most that one look counts; after a longer time the supervisor itself was suspended.
      LOOK_SECONDS_MAX = 0.5

      # @param now [Float] seconds of the monotonic clock
      def initialize(now)
        @looked_at = now
        @seconds = 0.0
      end

      # @param now [Float]
      # @param value [Object, nil] without one, the time since it was made
      # @return [Float]
      def seconds(now, value = nil)
        seen = [now - @looked_at, LOOK_SECONDS_MAX].min
        @looked_at = now
        @seconds = value == @value ? @seconds + seen : 0.0
        @value = value
        @seconds
      end
    end
  end
end
