# frozen_string_literal: true

module Elah
  class PeerLinks
    # The limit of open calls to a peer. There is none while the peer replies in time. After several late calls in a row, each further one halves
    # the limit, down to a single call at intervals, the probe. Each reply in time increases it by half, until there is none again. A call beyond
    # the limit fails at once.
    #
    # Late calls among others with replies in time do not count against the peer: those calls are slow themselves.
    #
    # It reads no clock: callers pass the time, in seconds of one monotonic clock.
    class Limiter
      # Number of late calls in a row, without a reply since they were sent, that starts the limit.
      LATE_MAX = 3

      # A call with less time does not count against the peer.
      FAIR_SECONDS = 0.005

      # From this value on there is no limit.
      ALLOWANCE_MAX = 64

      # Interval after a late probe.
      PROBE_SECONDS = 0.1

      # @return [Integer, nil] maximum number of open calls; nil when only the link's own limit applies
      attr_reader :allowance

      # @return [Integer] open calls
      attr_reader :in_flight

      def initialize
        @allowance = nil
        @in_flight = @late_in_row = @limited_calls = @late_calls = 0
        @replied_at = @late_at = -Float::INFINITY
      end

      # @param now [Float]
      # @return [Boolean] whether a call may be sent; refused calls are counted
      def admit?(now)
        return true if @allowance.nil? || admits?(now)

        @limited_calls += 1
        false
      end

      # Records that a call was sent.
      def admitted = @in_flight += 1

      # Records a reply in time.
      #
      # @param now [Float]
      def replied(now)
        @in_flight -= 1
        @replied_at = now
        @late_in_row = 0
        return unless @allowance

        @allowance += [@allowance / 2, 1].max
        @allowance = nil if @allowance >= ALLOWANCE_MAX
      end

      # Records a call without a reply in time.
      #
      # @param sent_at [Float]
      # @param now [Float]
      def late(sent_at, now)
        @in_flight -= 1
        @late_calls += 1
        return if @replied_at > sent_at || now - sent_at < FAIR_SECONDS

        @late_at = now
        @late_in_row += 1
        @allowance = [(@allowance || @in_flight + 1) / 2, 1].max if @late_in_row >= LATE_MAX
      end

      # Records another end of a call, which says nothing about the peer's speed.
      def ended = @in_flight -= 1

      # @return [Symbol] :open, :limited, or :probing when one call at a time is admitted
      def state
        return :open unless @allowance

        @allowance == 1 ? :probing : :limited
      end

      # @return [Hash{Symbol=>Object}] the state for status and metrics
      def to_h = { state: state, allowance: @allowance, in_flight: @in_flight, late_calls: @late_calls, limited_calls: @limited_calls }

      private

      def admits?(now)
        return @in_flight < @allowance if @allowance > 1

        @in_flight.zero? && now - @late_at >= PROBE_SECONDS
      end
    end
  end
end
