# frozen_string_literal: true

require_relative "../errors"

module Leaderboards
  module Boards
    # Owns the members of one board in one season: a ranked set in memory, and its rows in the table of all boards. Rows are written
    # before memory changes, in the call's own batch.
    class Standings
      # @return [Elah::RankedSet] to read
      attr_reader :set

      # @param rows [Elah::Entity::Index] where rows are written
      # @param table [Elah::Store::Table] the same, to read
      # @param prefix [String] before the keys of the rows
      # @param definition [Definition]
      def initialize(rows, table, prefix, definition)
        @rows = rows
        @prefix = prefix
        @members_max = definition.members_max
        @set = Elah::RankedSet.load(table, prefix: prefix, **definition.set_settings)
      end

      # @param member [String]
      # @param score [Object] as a client sends it
      # @param operator [Symbol] of {Elah::RankedSet#submit}
      # @param style [Symbol]
      # @return [Elah::RankedSet::Submission]
      # @raise [InvalidScore, BoardFull]
      def submit(member, score, operator, style)
        decision = @set.decide(member, score, operator: operator)
        return @set.submit(member, score, operator: operator, style: style) unless decision

        @rows.put(*@set.row(decision, prefix: @prefix))
        @set.apply(decision, style: style)
      rescue Elah::RankedSet::InvalidScore, TypeError => e
        raise InvalidScore, e.message
      rescue Elah::RankedSet::Full
        raise BoardFull, "The leaderboard has #{@members_max} members, and takes no more."
      end

      # @param member [String]
      # @return [Object, nil] the score that it had; nil when it was not there
      def delete(member)
        return unless @set.member?(member)

        @rows.delete(Elah::RankedSet.row_key(member, prefix: @prefix))
        @set.delete(member)
      end
    end
  end
end
