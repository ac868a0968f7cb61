# frozen_string_literal: true

module Elah
  class RankedSet
    # Statistics of a ranked set: percentiles and the distribution of scores.
    module Statistics
      # Most buckets of a histogram.
      BUCKETS_MAX = 100_000

      # The percentage of members that do not rank higher than a member, itself and its equals included: 100 for the first and for a sole member,
      # 100.0 / size for the last. It is SQL's `CUME_DIST()` over the members from worst to best, times 100.
      #
      # @param member [String]
      # @return [Float, nil] more than 0, up to 100; nil for a member that is not there
      def percentile(member)
        better = better_than_native(member) or return
        100.0 * (size - better) / size
      end

      # The lowest-ranking score whose {#percentile} is at least `percent`. It is SQL's `PERCENTILE_DISC` over the members from worst to best, also
      # called the nearest rank. The result is always the score of a member.
      #
      # @param percent [Numeric] 0 to 100
      # @return [Integer, BigDecimal, Array<Integer, BigDecimal>, nil] nil for an empty set
      def score_at_percentile(percent)
        unless percent.is_a?(Numeric) && percent.between?(0, 100)
          raise ArgumentError, "percent must be a number from 0 to 100, not #{percent.inspect}"
        end
        return if empty?

        # Rational, so that 99.9 % of 1000 is not more than 999.
        exact = percent.is_a?(Float) ? percent.rationalize : percent.to_r
        from_worst = [(exact * size / 100).ceil, 1].max
        rows_native(size - from_worst, 1, :ordinal).first.score
      end

      # The numbers of members by score: of the first component, below, between and above given bounds, or in parts of equal width from the lowest
      # to the highest score.
      #
      # @param bounds [Array<Numeric>, nil] bounds between the buckets
      # @param buckets [Integer, nil] number of buckets of equal width, up to {BUCKETS_MAX}; fewer are returned if the range has fewer numbers
      # @return [Array<Bucket>]
      # @raise [InvalidScore]
      def histogram(bounds: nil, buckets: nil)
        raise ArgumentError, "pass either bounds: or buckets:" unless bounds.nil? ^ buckets.nil?

        histogram_native(bounds ? Array(bounds) : Arguments.limit(buckets, "buckets", most: BUCKETS_MAX)).map { |bucket| Bucket.new(*bucket) }
      end
    end
  end
end
