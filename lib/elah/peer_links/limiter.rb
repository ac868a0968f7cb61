# frozen_string_literal: true

module Elah
  class PeerLinks
    # How many calls may be on the way to a peer at once. Without any bound of its own while the peer answers in time; when several calls in a
    # row were not, the allowance is halved with each further one, down to a single call now and then, the probe; and with each
    # answer in time it grows by half, until there is no bound again. Who is not admitted is told so at once.
    #
    # Calls that are late while others of the same time are answered say nothing of the peer: they are slow themselves.
    #
    # It reads no clock: whoever asks says what time it is, in seconds of one monotonic clock.
    class Limiter
      # So many calls in a row that were late, without an answer since they were sent, begin to limit the peer.
      LATE_MAX = 3

      # A call that had less time says nothing of the peer.
      FAIR_SECONDS = 0.005

      # From this allowance on there is none.
      ALLOWANCE_MAX = 64

      # A probe that was late is followed by the next one after this time.
      PROBE_SECONDS = 0.1

      # @return [Integer, nil] how many calls may be on the way at once; nil when only the link's own bound holds
      attr_reader :allowance

      # @return [Integer] calls that are on the way
      attr_reader :in_flight

      def initialize
        @allowance = nil
        @in_flight = @late_in_row = @limited_calls = @late_calls = 0
        @answered_at = @late_at = -Float::INFINITY
      end

      # @param now [Float]
      # @return [Boolean] whether a call may be sent; one that may not is counted
      def admit?(now)
        return true if @allowance.nil? || admits?(now)

        @limited_calls += 1
        false
      end

      # A call was sent.
      def admitted = @in_flight += 1

      # A call was answered in time.
      #
      # @param now [Float]
      def answered(now)
        @in_flight -= 1
        @answered_at = now
        @late_in_row = 0
        return unless @allowance

        @allowance += [@allowance / 2, 1].max
        @allowance = nil if @allowance >= ALLOWANCE_MAX
      end

      # A call had no answer in time.
      #
      # @param sent_at [Float]
      # @param now [Float]
      def late(sent_at, now)
        @in_flight -= 1
        @late_calls += 1
        return if @answered_at > sent_at || now - sent_at < FAIR_SECONDS

        @late_at = now
        @late_in_row += 1
        @allowance = [(@allowance || @in_flight + 1) / 2, 1].max if @late_in_row >= LATE_MAX
      end

      # A call ended in another way, which says nothing of how fast the peer is.
      def ended = @in_flight -= 1

      # @return [Symbol] :open, :limited, or :probing when one call at a time is let through
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
