# frozen_string_literal: true

require_relative "../errors"

module Leaderboards
  module Boards
    # The members of one board in one season: a ranked set in memory, and its rows in the table of all boards. Rows are written
    # before memory changes, in the call's own batch. Banned members are in a second set, the shadow.
    class Standings
      # @param prefix [String] of a season's rows
      # @return [String] of the rows of banned members
      def self.shadow(prefix) = "#{prefix}!"

      # @return [Elah::RankedSet] to read
      attr_reader :set

      # @param rows [Elah::Entity::Index] where rows are written
      # @param prefix [String] before the keys of the rows
      # @param definition [Definition]
      # @param table [Elah::Store::Table, nil] where the rows are; nil when there are none yet
      def initialize(rows, prefix, definition, table)
        @rows = rows
        @prefix = prefix
        @members_max = definition.part_members_max
        @set = table ? Elah::RankedSet.load(table, prefix: prefix, **definition.set_settings) : Elah::RankedSet.new(**definition.set_settings)
      end

      # @param member [String]
      # @param score [Object] as a client sends it
      # @param operator [Symbol] of {Elah::RankedSet#submit}
      # @param style [Symbol]
      # @param is_decided [Boolean] whether a full board accepts the member anyway
      # @return [Elah::RankedSet::Submission]
      # @raise [InvalidScore, BoardFull]
      def submit(member, score, operator, style, is_decided: false)
        decision = decide(member, score, operator, is_decided: is_decided)
        return @set.submit(member, score, operator: operator, style: style) unless decision

        @rows.put(*@set.row(decision, prefix: @prefix))
        @set.apply(decision, style: style)
      end

      # Like {#submit}, with JSON as its result.
      #
      # @param (see #submit)
      # @return [String]
      # @raise (see #submit)
      def submit_json(member, score, operator, style, is_decided: false)
        full! if @set.size >= @members_max && !is_decided && !@set.member?(member)
        @set.submit_json(member, score, operator: operator, style: style, index: @rows, prefix: @prefix)
      rescue Elah::RankedSet::InvalidScore, TypeError => e
        raise InvalidScore, e.message
      end

      # @return [Integer] a larger one after each change
      def version = @set.version

      # @param (see #submit)
      # @return [Elah::RankedSet::Decision, nil] nil when the score stays as it is
      # @raise (see #submit)
      def decide(member, score, operator, is_decided: false)
        full! if @set.size >= @members_max && !is_decided && !@set.member?(member)
        @set.decide(member, score, operator: operator)
      rescue Elah::RankedSet::InvalidScore, TypeError => e
        raise InvalidScore, e.message
      end

      # Decides submissions one after the other, and changes nothing in the end.
      #
      # @param submissions [Array<Array>] member, score and operator of each
      # @yieldparam decision [Elah::RankedSet::Decision] of one that changes a score
      # @yieldparam operator [Symbol]
      # @raise (see #submit)
      def rehearse(submissions)
        done = []
        submissions.each do |member, score, operator|
          decision = decide(member, score, operator) or next
          yield decision, operator
          done << @set.submit(member, score, operator: operator) if submissions.size > 1
        end
      ensure
        done.reverse_each { |submission| @set.undo(submission) }
      end

      # @param member [String]
      # @return [Object, nil] the score that it had; nil when it was not there
      def delete(member)
        return unless @set.member?(member)

        @rows.delete(Elah::RankedSet.row_key(member, prefix: @prefix))
        @set.delete(member)
      end

      # Moves a member here from other standings. It keeps its place among equal scores.
      #
      # @param member [String]
      # @param other [Standings]
      def take(member, other)
        row = other.give(member) or return
        @rows.put(Elah::RankedSet.row_key(member, prefix: @prefix), row)
        @set.restore(member, row)
      end

      # @param member [String]
      # @return [String, nil] its row, which is deleted
      def give(member)
        row = @rows.get(Elah::RankedSet.row_key(member, prefix: @prefix))
        delete(member)
        row
      end

      # Runs a block while a member of other standings is included, in memory only.
      #
      # @param member [String]
      # @param score [Object]
      # @return [Object] the block's value
      def with(member, score)
        guest = @set.submit(member, score, operator: :set)
        yield @set
      ensure
        @set.undo(guest) if guest
      end

      private

      def full! = raise(BoardFull, "There are #{@members_max} members, which is the maximum of the leaderboard or of its part.")
    end
  end
end
