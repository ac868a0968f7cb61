# frozen_string_literal: true

module Items
  module Uniformity
    # The chi-square distribution: the probability of a deviation by chance, and the smallest bias that a number of draws reveals.
    class ChiSquare
      TERMS_MAX = 10_000
      PRECISION = 1e-12

      # @return [Integer]
      attr_reader :degrees

      # @param degrees [Integer] of freedom
      def initialize(degrees)
        @degrees = degrees
      end

      # Pearson's statistic.
      #
      # @param observed [Array<Integer>]
      # @param expected [Array<Numeric>] none of them 0
      # @return [Float]
      def self.statistic(observed, expected)
        observed.each_with_index.sum { |number, cell| ((number - expected[cell])**2).fdiv(expected[cell]) }
      end

      # @param statistic [Numeric]
      # @return [Float] the probability of one that is at least as large, by chance alone
      def p_value(statistic) = 1 - lower_gamma(degrees / 2.0, statistic / 2.0)

      # @param significance [Float]
      # @return [Float] the statistic that chance passes with this probability
      def critical(significance)
        bisect(0.0, degrees + 20 * Math.sqrt(2 * degrees) + 200) { |statistic| p_value(statistic) <= significance }
      end

      # @param noncentrality [Numeric] draws times the sum of (share - fair share)² / fair share
      # @param significance [Float]
      # @return [Float] the probability that the test finds such a bias
      def power(noncentrality, significance)
        critical = critical(significance)
        half = noncentrality / 2.0
        spread = 12 * Math.sqrt(half) + 20
        ([(half - spread).floor, 0].max..(half + spread).ceil).sum do |count|
          poisson(count, half) * (1 - lower_gamma(degrees / 2.0 + count, critical / 2))
        end
      end

      # @param power [Float]
      # @param significance [Float]
      # @return [Float] the noncentrality that the test finds with this probability
      def noncentrality(power, significance)
        bisect(0.0, 10.0 * degrees + 1000) { |candidate| power(candidate, significance) >= power }
      end

      private

      # The smallest argument for which the block is true, if it is true for all larger ones.
      def bisect(low, high)
        60.times do
          middle = (low + high) / 2
          yield(middle) ? high = middle : low = middle
        end
        high
      end

      def poisson(count, mean)
        return count.zero? ? 1.0 : 0.0 if mean.zero?

        Math.exp(count * Math.log(mean) - mean - Math.lgamma(count + 1).first)
      end

      # The regularised lower incomplete gamma function, by its series of positive terms.
      def lower_gamma(shape, limit)
        return 0.0 if limit <= 0

        term = sum = 1 / shape
        TERMS_MAX.times do |index|
          term *= limit / (shape + index + 1)
          sum += term
          break if term < sum * PRECISION
        end
        [sum * Math.exp(shape * Math.log(limit) - limit - Math.lgamma(shape).first), 1.0].min
      end
    end
  end
end
