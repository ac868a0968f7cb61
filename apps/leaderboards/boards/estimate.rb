# frozen_string_literal: true

module Leaderboards
  module Boards
    # An estimated rank: some parts are known only from earlier, so it lies between two bounds if those have not changed.
    #
    # rank: Integer in the middle · error: distance to the bounds · at: when the oldest part was read, seconds
    Estimate = Struct.new(:rank, :error, :at) do
      # @param known [Integer] the ordinal rank among the parts that have replied
      # @param summaries [Array<Part::Summary>] of the others
      # @param score [Object]
      # @param order [Order]
      # @return [Estimate]
      def self.of(known, summaries, score, order)
        bounds = summaries.map { |summary| order.bounds(summary, score) }
        low, high = [bounds.sum(&:first), bounds.sum(&:last)]
        middle = (low + high) / 2
        new(known + middle, high - middle, summaries.map(&:at).min)
      end

      # @return [String] members of the response's JSON object
      def to_json_members
        at_text = Time.at(at).utc.strftime("%Y-%m-%dT%H:%M:%SZ")
        %(,"rank_error":#{error},"parts_as_of":"#{at_text}")
      end
    end

    # The comparison of scores of one board.
    class Estimate::Order
      # @param directions [Array<Symbol>] :desc or :asc of each component
      def initialize(directions)
        @signs = directions.map { |direction| direction == :desc ? -1 : 1 }
      end

      # @return [Integer] negative when the first score is the better one
      def compare(one, other)
        return @signs.first * (one <=> other) unless one.is_a?(Array)

        @signs.each_with_index do |sign, index|
          difference = sign * (one[index] <=> other[index])
          return difference unless difference.zero?
        end
        0
      end

      # @param summary [Part::Summary]
      # @param score [Object]
      # @return [Array(Integer, Integer)] the least and the greatest number of the part's members that rank before this score
      def bounds(summary, score)
        size = summary.size
        return [0, 0] if size.zero?

        # Scores from the worst to the best. That of step i belongs to the place-th member from the worst.
        places = (0..Part::STEPS).map { |step| [(Rational(step * size, Part::STEPS)).ceil, 1].max }
        better = summary.scores.index { |other| compare(other, score).negative? }
        not_worse = summary.scores.index { |other| compare(other, score) <= 0 }
        low = better ? size - places[better] + 1 : 0
        high = not_worse.nil? ? 0 : size - (not_worse.zero? ? 0 : places[not_worse - 1])
        [low, high]
      end
    end
  end
end
