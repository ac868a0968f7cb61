# frozen_string_literal: true

module RingPools
  # The number of numbers that a pool needs. A pool in which every allocation holds a number for the hold time, and fails if all
  # are held, is a loss system. If allocations arrive independently, the share that fails is Erlang's B, for any distribution of
  # the hold times (A. K. Erlang, 1917; for the insensitivity B. A. Sevastyanov, 1957). It is computed by the recursion over the
  # number of servers, in the form that neither overflows nor loses digits: with I(0) = 1 and I(n) = 1 + n / load * I(n - 1), the
  # share is 1 / I(n) (ITU-D, Handbook "Teletraffic Engineering", section 4.5.1).
  module Forecast
    # The search ends at this many numbers.
    NUMBERS_MAX = 100_000
    # The search for a load ends when a step changes it by less than this share, or after this many steps.
    PRECISION = 1e-9
    STEPS_MAX = 30

    class << self
      # @param load [Numeric] the offered load in erlangs: allocations per second times hold time and quarantine in seconds
      # @param numbers [Integer]
      # @return [Float] the share of the allocations that overflow, 0 to 1
      def overflow_share(load, numbers)
        return 0.0 unless load.positive?

        inverse = 1.0
        (1..numbers).each do |count|
          inverse = 1.0 + (count / load.to_f * inverse)
          return 0.0 if inverse.infinite?
        end
        1.0 / inverse
      end

      # @param load [Numeric] erlangs
      # @param share [Numeric] the overflow that is aimed at, more than 0
      # @return [Integer, nil] the fewest numbers that bring the overflow to the share or below; nil when {NUMBERS_MAX} do not
      def numbers_for(load, share)
        return 0 unless load.positive?

        inverse = 1.0
        (1..NUMBERS_MAX).find do |count|
          inverse = 1.0 + (count / load.to_f * inverse)
          1.0 / inverse <= share
        end
      end

      # Newton's method on the logarithms of load and share, where the slope is the mean number of free numbers. Each step passes over
      # all numbers; four to seven are enough. A bisection replaces a step that leaves the interval, as when the share is almost 0.
      #
      # @param numbers [Integer]
      # @param share [Numeric] of overflow
      # @return [Float] the largest load in erlangs with which so many numbers stay at the share or below
      def load_for(numbers, share)
        low = 0.0
        load = high = numbers / (1.0 - share)
        STEPS_MAX.times do
          overflow = overflow_share(load, numbers)
          overflow > share ? high = load : low = load
          step = Math.log(overflow / share) / (numbers - (load * (1.0 - overflow)))
          break if step.abs < PRECISION

          load *= Math.exp(-step)
          load = (low + high) / 2 unless load > low && load < high
        end
        load
      end

      # The forecast of a pool.
      #
      # @param rate [Numeric] allocations per second
      # @param hold_seconds [Numeric] for which an allocation takes a number away, the quarantine included
      # @param numbers [Integer]
      # @param target [Numeric] the share of overflow that is aimed at
      # @return [Hash]
      def report(rate:, hold_seconds:, numbers:, target:)
        load = rate * hold_seconds
        share = overflow_share(load, numbers)
        needed = numbers_for(load, target)
        more = needed && [needed - numbers, 0].max
        { allocations_per_hour: (rate * 3600).round(3), offered_load_erlangs: load.round(3), numbers: numbers, overflow_share: share.round(6),
          target_share: target, numbers_needed: needed, more_numbers: more,
          allocations_per_hour_max: hold_seconds.positive? ? (load_for(numbers, target) / hold_seconds * 3600).round(1) : nil,
          sentence: sentence(share, more, target) }
      end

      private

      def sentence(share, more, target)
        overflow = "At this rate #{percent(share)} of the allocations overflow"
        return "#{overflow}." if more.nil? || more.zero?

        "#{overflow}; #{more} more #{more == 1 ? 'number brings' : 'numbers bring'} it to #{percent(target)}."
      end

      def percent(share) = "#{format('%.2f', share * 100).sub(/\.?0+\z/, '')} %"
    end
  end
end
