# frozen_string_literal: true

module Leaderboards
  module Stores
    class Redis
      # The statistics of {Board}, with the methods of {Elah::RankedSet::Statistics}.
      module Statistics
        # The range of a score.
        NUMBERS = (-(2**63)..(2**63) - 1).freeze

        # @param member [String]
        # @return [String]
        # @raise [MemberNotFound]
        def percentile(member, season)
          view = rows(season, :competition, :one, member)
          row = view.rows.first || no_member!(member)
          percentile = 100.0 * (view.first - row.rank + 1) / view.first
          %({"member":#{@text.name(member)},"score":#{@text.score(row.score)},"percentile":#{percentile}})
        end

        # @param percents [Array<Numeric>]
        # @return [String]
        def scores_at(percents, season)
          size = range(1, 0, :ordinal, season).size
          found = percents.map do |percent|
            from_worst = [(percent.rationalize * size / 100).ceil, 1].max
            row = range(size - from_worst + 1, size - from_worst + 1, :ordinal, season).rows.first if size.positive?
            %({"percentile":#{percent},"score":#{row ? @text.score(row.score) : 'null'}})
          end
          %({"size":#{size},"percentiles":[#{found.join(',')}]})
        end

        # @param bounds [Array<Numeric>, nil]
        # @param buckets [Integer, nil]
        # @return [String]
        # @raise [InvalidScore]
        def histogram(bounds, buckets, season)
          ends = bounds ? [nil, *bounds.map { |bound| number(bound) }.uniq.sort, nil] : equal_ends(buckets, season)
          size = range(1, 0, :ordinal, season).size
          found = ends.each_cons(2).map do |from, to|
            from, to = [from, to].map { |end_| end_ && @order.first_component(end_) }
            count = rows(season, :ordinal, :between, *@order.points(from...to), 0, 0).first
            %({"from":#{from ? @text.first(from) : 'null'},"to":#{to ? @text.first(to) : 'null'},"count":#{count}})
          end
          %({"size":#{size},"buckets":[#{found.join(',')}]})
        end

        private

        def number(score) = @order.first_number(@order.prefix(score))

        # The requested number of parts, or fewer if there are fewer numbers; the end of the last may exceed all numbers.
        def equal_ends(buckets, season)
          first, last = [rows(season, :ordinal, :range, 0, 0), rows(season, :ordinal, :range, -1, -1)].map { |view| view.rows.first&.score }
          return [] if first.nil? || buckets.zero?

          least, most = [first, last].map { |score| number(Array(score).first) }.minmax
          width = -(-(most - least + 1)).div(buckets)
          ends = (least..most).step(width).to_a
          ends << (NUMBERS.cover?(ends.last + width) ? ends.last + width : nil)
        end
      end
    end
  end
end
