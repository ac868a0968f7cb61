# frozen_string_literal: true

require_relative "chi_square"

module Items
  # The test of whether draws are uniform.
  module Uniformity
    # The running chi-square test of this process's draws. The positions of a draw are divided into CELLS cells whose sizes differ
    # by at most one. The tally counts the draws in each cell, and the expected number. Both are right while items are added or
    # deleted, because every draw is counted with the number of items at that time. The expected numbers are Floats: their rounding
    # is far below the chance that is tested, and exact fractions would need larger denominators with every number of items.
    class Tally
      CELLS = 64
      # The probability that a fair service is reported as suspicious.
      SIGNIFICANCE = 0.001
      # The probability of detecting a bias of the reported size.
      POWER = 0.99
      # The fewest expected draws in a cell for a meaningful test.
      EXPECTED_MIN = 5

      def initialize
        @observed = Array.new(CELLS, 0)
        @expected = Array.new(CELLS, 0.0)
        @count = 0
        @pending = 0
        @since = Time.now.utc
      end

      # Counts a draw. Ignores draws from fewer items than there are cells.
      #
      # @param position [Integer]
      # @param count [Integer] of the items that could have been drawn
      def add(position, count)
        return if count < CELLS

        settle(count) unless count == @count
        @pending += 1
        @observed[position * CELLS / count] += 1
      end

      # @return [Hash] see specs/items.md
      def report
        settle(@count)
        draws = @observed.sum
        return facts(draws, "too_few_draws") if draws < CELLS * EXPECTED_MIN

        statistic = ChiSquare.statistic(@observed, @expected)
        p_value = distribution.p_value(statistic)
        facts(draws, p_value < SIGNIFICANCE ? "suspicious" : "consistent",
              chi_square: statistic.round(3), p_value: p_value.round(6), detectable_bias: detectable_bias(draws).round(6))
      end

      private

      # Adds the expected draws since the number of items last changed.
      def settle(count)
        if @pending.positive?
          first = 0
          CELLS.times do |cell|
            # The first position of the next cell.
            following = ((cell + 1) * @count + CELLS - 1) / CELLS
            @expected[cell] += (@pending * (following - first)).fdiv(@count)
            first = following
          end
        end
        @count = count
        @pending = 0
      end

      def facts(draws, verdict, chi_square: nil, p_value: nil, detectable_bias: nil)
        { draws: draws, since: @since.strftime("%Y-%m-%dT%H:%M:%S.%LZ"), cells: CELLS, degrees_of_freedom: CELLS - 1, chi_square: chi_square,
          p_value: p_value, significance: SIGNIFICANCE, verdict: verdict, detectable_bias: detectable_bias, power: POWER }
      end

      # The bias that would have been detected: half of the cells too likely by this share, and the others too unlikely.
      def detectable_bias(draws)
        @noncentrality ||= distribution.noncentrality(POWER, SIGNIFICANCE)
        Math.sqrt(@noncentrality / draws)
      end

      def distribution = @distribution ||= ChiSquare.new(CELLS - 1)
    end
  end
end
