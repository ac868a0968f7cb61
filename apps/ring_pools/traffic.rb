# frozen_string_literal: true

module RingPools
  # The requests to a pool in the last hour, from counts taken once a minute. It restarts when the pool is loaded.
  class Traffic
    MINUTES = 60
    MINUTE = 60_000_000

    # @return [Integer] when {#count} is to be called next, in microseconds
    attr_reader :counts_next_at

    def initialize
      @counts = []
      @counts_next_at = 0
    end

    # @param now [Integer] microseconds
    # @param grants [Integer] that there have ever been
    # @param overflows [Integer] that there have ever been
    # @return [Integer] {#counts_next_at}
    def count(now, grants, overflows)
      @counts << [now, grants, overflows]
      @counts.shift while @counts.first[0] < now - (MINUTES * MINUTE)
      @counts_next_at = now + MINUTE
    end

    # @param now [Integer]
    # @param grants [Integer]
    # @param overflows [Integer]
    # @return [Hash] seconds, allocations and overflows of the time that is remembered
    def since(now, grants, overflows)
      at, grants_then, overflows_then = @counts.first || [now, grants, overflows]
      { seconds: (now - at) / 1e6, allocations: grants - grants_then, overflows: overflows - overflows_then }
    end
  end
end
