# frozen_string_literal: true

module Leaderboards
  module Boards
    # The operations of a part of a board for {Split}, which adds up the results of all parts.
    module Part
      # A position in the order within a part: how many members are before it, have a better score, and have the same.
      Place = Struct.new(:before, :better, :equal, :size)
      # A member of a part, with its score and a cursor.
      Standing = Struct.new(:member, :score, :cursor, :metadata)
      # A summary of a part: the scores at equal distances from the worst member to the best, at a time (seconds).
      Summary = Struct.new(:size, :scores, :at)
      # Number of scores of a summary, minus one.
      STEPS = 64

      # @param member [String]
      # @param score [Object]
      # @param operator [Symbol, nil]
      # @param metadata [String, nil]
      # @return [Array(Standing, Boolean, Object)] the member now, whether it has changed, and its score before
      # @raise [InvalidScore, BoardFull]
      def submit_to_part(member, score, operator, metadata)
        refresh
        submission = @standings.submit(member, score, operator || @definition.operator, :ordinal)
        @member_data.put_metadata(member, metadata) if metadata
        [standing(member), submission.changed, submission.previous_score]
      end

      # @param member [String]
      # @return [Standing, nil]
      def find_in_part(member)
        refresh
        @set.member?(member) ? standing(member) : nil
      end

      # @param member [String] who stands at the place, here or in another part
      # @param cursor [String]
      # @param score [Object] of the place
      # @return [Place]
      # @raise [InvalidCursor]
      def place_in_part(member, cursor, score)
        refresh
        behind = row_behind(cursor, :ordinal)
        before = behind ? behind.rank - 1 : @set.size
        before -= 1 if @set.cursor(member) == cursor
        equal = @set.count(score..score)
        Place.new(before, equal.zero? ? before : better(cursor, score, before), equal, @set.size)
      rescue Elah::RankedSet::InvalidCursor => e
        raise InvalidCursor, e.message
      end

      # @param cursor [String, nil] nil is the beginning
      # @param limit [Integer]
      # @param is_before [Boolean] whether those before the place are wanted
      # @return [Array(Integer, Array<Standing>)] how many are before the place, and members next to it
      # @raise [InvalidCursor]
      def near_in_part(cursor, limit, is_before)
        refresh
        rows = @set.page(is_before ? :before : :after => cursor, limit: limit).rows
        behind = cursor && row_behind(cursor, :ordinal)
        before = cursor ? (behind ? behind.rank - 1 : @set.size) : 0
        [before, rows.map { |row| standing(row.member) }]
      rescue Elah::RankedSet::InvalidCursor => e
        raise InvalidCursor, e.message
      end

      # @return [Summary]
      def summarize
        refresh
        scores = (0..STEPS).map { |step| @set.score_at_percentile(Rational(100 * step, STEPS)) }
        Summary.new(@set.size, scores.compact, Leaderboards.service.clock.now)
      end

      private

      def standing(member) = Standing.new(member, @set.score(member), @set.cursor(member), @member_data.metadata(member))

      def row_behind(cursor, style) = @set.page(after: cursor, limit: 1, style: style).rows.first

      # Members with the same score are on both sides of the position.
      def better(cursor, score, before)
        behind = row_behind(cursor, :competition)
        return behind.rank - 1 if behind && behind.score == score

        ahead = @set.page(before: cursor, limit: 1, style: :competition).rows.first
        ahead && ahead.score == score ? ahead.rank - 1 : before
      end
    end
  end
end
