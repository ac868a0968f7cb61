# frozen_string_literal: true

require_relative "../errors"
require_relative "multi_board_writes"

module Leaderboards
  module Boards
    # The writes of {Board}. Each is stored as a whole before it returns, if the board is durable.
    module Writing
      # Members that one call of {#trim} removes.
      TRIMMED_AT_ONCE = 1000

      # @param member [String]
      # @param score [Object]
      # @param operator [Symbol, nil] nil is the board's own
      # @param style [Symbol]
      # @param metadata [String, nil] JSON; nil keeps the metadata, "null" deletes it
      # @return [String] the result of the submission
      def submit(member, score, operator, style, metadata = nil)
        refresh
        text = enter(member, score, operator || @definition.operator, style)
        @member_data.put_metadata(member, metadata) if metadata
        @seasons.prune(@rows, Board.members) unless @seasons.pruned?
        text
      end

      # Submits many scores at once.
      #
      # @param rows [Array<Array>] member, score and metadata of each
      # @param operator [Symbol]
      # @return [Array<Array(Integer, String)>] the index and the code of each that was refused
      def import(rows, operator)
        refresh
        failures = []
        rows.each_with_index do |(member, score, metadata), index|
          enter(member, score, operator, :ordinal)
          @member_data.put_metadata(member, metadata) if metadata
        rescue Refused => e
          failures << [index, e.code]
        end
        failures
      end

      # Changes the metadata of a member, and nothing else.
      #
      # @param member [String]
      # @param metadata [String] JSON; "null" deletes it
      # @param style [Symbol]
      # @return [String] the member
      # @raise [MemberNotFound]
      def put_metadata(member, metadata, style)
        show(member, style)
        @member_data.put_metadata(member, metadata)
        show(member, style)
      end

      # Adds to a score, exactly once for each key.
      #
      # @param member [String]
      # @param amount [Object]
      # @param key [String] the Idempotency-Key
      # @param style [Symbol]
      # @return [Array(String, Boolean)] the result of the first request with the key, and whether this is a replay
      # @raise [IdempotencyMismatch]
      def increment(member, amount, key, style)
        refresh
        @responses.once(key, "increment #{member} #{Elah::JSON.generate(amount)}") { enter(member, amount, :increment, style) }
      end

      # Checks that submissions can be parts of a write to several boards, one after the other.
      #
      # @param submissions [Array<Array>] member, score and operator of each
      # @raise [InvalidScore, BoardFull]
      def check(submissions)
        refresh
        @standings.rehearse(submissions) do |decision, operator|
          MultiBoardWrites.check_room(@text.components(decision.score)) if operator == :increment
        end
      end

      # Applies a part of a decided write to several boards, once.
      #
      # @param name [String] of the part, among the stored responses
      # @param (see #submit)
      # @return [String] the result of the submission
      def carry_out(name, member, score, operator, style)
        refresh
        @responses.once(name, "", kept_seconds: MultiBoardWrites::UNFINISHED_SECONDS) do
          enter(member, score, operator, style, is_decided: true)
        end.first
      end

      # Keeps the results of parts only as long as other responses: their writes are finished.
      #
      # @param names [Array<String>] of the parts
      def finished(names)
        refresh
        names.each { |name| @responses.keep_briefly(name) }
        nil
      end

      # @param member [String]
      # @param erase [Boolean] whether to delete metadata and ban too
      # @return [Boolean] whether the member was there
      def delete(member, erase)
        refresh
        was_there = [@standings, shadow].map { |standings| standings.delete(member) }.any?
        @member_data.delete(member) if erase
        was_there
      end

      # Hides a member. Its scores are still accepted, with the same responses as before.
      #
      # @param member [String]
      def ban(member)
        refresh
        return if @member_data.banned?(member)

        @member_data.ban(member)
        shadow.take(member, @standings)
        nil
      end

      # @param member [String]
      # @return [Boolean] whether it was banned
      def pardon(member)
        refresh
        return false unless @member_data.banned?(member)

        @standings.take(member, shadow)
        @member_data.pardon(member)
        true
      end

      # Removes some of the members after the first ones.
      #
      # @param keep [Integer]
      # @return [Integer] how many were removed; call it again until this is 0
      def trim(keep)
        refresh
        size = @set.size
        first = [keep + 1, size - TRIMMED_AT_ONCE + 1].max
        @set.range(first..size).each { |row| @standings.delete(row.member) }.size
      end

      # Ends the season, and begins an empty one.
      #
      # @return [Integer] the number of the new one
      def begin_season
        refresh
        advance_season
        season
      end

      # Removes some rows of the board, which the directory no longer has.
      #
      # @return [Boolean] whether there are more
      def remove
        @definition = nil
        Board.region.flush # what is on its way would come after
        rows = Board.all_rows(key, REMOVED_AT_ONCE)
        rows.each { |name, keys| keys.each { |key| index(name).delete(key) } }
        rows.any? { |_, keys| keys.any? }
      end

      # Rows of each table that one call of {#remove} deletes.
      REMOVED_AT_ONCE = 500

      private

      # @return [String] the result of the submission
      def enter(member, score, operator, style, is_decided: false)
        return enter_hidden(member, score, operator, style, is_decided: is_decided) if @member_data.banned?(member)
        return @standings.submit_json(member, score, operator, style, is_decided: is_decided) unless @changes

        version = @standings.version
        text = @standings.submit_json(member, score, operator, style, is_decided: is_decided)
        @changes.note(text) if version != @standings.version
        text
      end

      # A banned member gets the ranks that it would have.
      def enter_hidden(member, score, operator, style, is_decided:)
        submission = shadow.submit(member, score, operator, style, is_decided: is_decided)
        submission.rank = @standings.with(member, submission.score) { |set| set.rank(member, style: style) }
        submission.previous_rank &&= @standings.with(member, submission.previous_score) { |set| set.rank(member, style: style) }
        @text.submission(submission)
      end
    end
  end
end
