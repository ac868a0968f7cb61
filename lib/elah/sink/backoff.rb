# frozen_string_literal: true

module Elah
  class Sink
    # Wait before the next attempt: exponential with full jitter, so that clients that lost the same server do not reconnect together (Marc Brooker:
    # Exponential Backoff And Jitter, 2015).
    class Backoff
      # @param first_seconds [Numeric] the longest wait before the second attempt
      # @param max_seconds [Numeric] upper limit of every wait
      # @param random [#rand]
      def initialize(first_seconds, max_seconds, random: Random)
        @first_seconds = first_seconds
        @max_seconds = max_seconds
        @random = random
      end

      # @param failures [Integer] attempts that have failed, at least 1
      # @return [Float] seconds
      def seconds(failures)
        @random.rand([@max_seconds, @first_seconds * 2**[failures - 1, 60].min].min.to_f)
      end
    end
  end
end
