# frozen_string_literal: true

require_relative "../board"
require_relative "../boards/split"
require_relative "../boards/multi_board_writes"
require_relative "../stores"

module Leaderboards
  module Stores
    # Keeps scores in the embedded store: each board is an entity, which one worker owns and all workers call. {Stores} describes
    # the methods.
    class Embedded
      # With `memory`, a commit starts this long after the first write, and stores only the last score of each member. A killed process
      # may lose the writes of this time.
      LINGER_SECONDS = 1

      # @param opening [Opening]
      # @return [Embedded]
      def self.open(opening) = new(opening.embedded, durability: opening.durability, deadline: opening.deadline)

      # @return [Elah::Entity::Collection] the boards
      attr_reader :boards

      # @param store [Elah::Store]
      # @param durability [Symbol] :disk or :memory
      # @param deadline [Float] seconds that the parts of a board may take to reply
      def initialize(store, durability: :disk, deadline: 0.15)
        Board.durability(durability)
        Board.linger_seconds(LINGER_SECONDS)
        @boards = Board.in(store)
        @seasons = @boards.index(:seasons)
        @deadline = deadline
        @summaries = {}
        @multi_board_writes = Boards::MultiBoardWrites.new(store, @boards, responses: @boards.index(:responses))
      end

      def start = Elah.every(Boards::MultiBoardWrites::EVERY_SECONDS) { finish }

      # Finishes writes to several boards that a killed process has left unfinished.
      #
      # @return [Integer] how many there were
      def finish = @multi_board_writes.finish

      def submit(definition, member, score, operator, style, metadata = nil)
        board(definition).submit(member, score, operator, style, metadata)
      end

      def increment(definition, member, amount, key, style) = board(definition).increment(member, amount, key, style)

      def put_metadata(definition, member, metadata, style) = board(definition).put_metadata(member, metadata, style)

      def submit_to_boards(submissions, key, style)
        raise NotInParts, "A leaderboard in parts cannot share a write with others." if submissions.any? { |definition, *| definition.parts > 1 }

        @multi_board_writes.submit(submissions.map { |definition, *rest| Boards::MultiBoardWrites::Part.new(definition.key, *rest) }, key, style)
      end

      def import(definition, rows, operator) = board(definition).import(rows, operator)

      def delete(definition, member, erase)
        was_there = board(definition).delete(member, erase)
        return was_there unless erase

        past = board(definition).ended_seasons.map { |number| @boards["#{definition.key}@#{number}"] }
        past.map { |season| delete_from_past(season, member) }.push(was_there).any?
      end

      def ban(definition, member) = board(definition).ban(member)
      def pardon(definition, member) = board(definition).pardon(member)
      def begin_season(definition) = board(definition).begin_season

      def trim(definition, keep)
        board = board(definition)
        removed = 0
        until (count = board.trim(keep)).zero? do removed += count end
        removed
      end

      def remove(definition)
        board = board(definition)
        nil while board.remove
      end

      def show(definition, member, style, season = nil) = board(definition, season).show(member, style)
      def top(definition, count, style, season = nil) = board(definition, season).top(count, style)
      def around(definition, member, distance, style, season = nil) = board(definition, season).around(member, distance, style)
      def ranks(definition, first, last, style, season = nil) = board(definition, season).ranks(first, last, style)
      def scores(definition, range, style, season = nil) = board(definition, season).scores(range, style)
      def page(definition, after, before, limit, style, season = nil) = board(definition, season).page(after, before, limit, style)
      def list(definition, members, style, season = nil) = board(definition, season).list(members, style)
      def percentile(definition, member, season = nil) = board(definition, season).percentile(member)
      def scores_at(definition, percents, season = nil) = board(definition, season).scores_at(percents)
      def histogram(definition, bounds, buckets, season = nil) = board(definition, season).histogram(bounds, buckets)

      def across(definitions, member, style)
        return definitions.map { |definition| show_or_nil(definition, member, style) } if definitions.any? { |definition| definition.parts > 1 }

        @boards.call_many(definitions.map { |definition| [definition.key, :show, member, style] }).map do |result|
          next result unless result.is_a?(Exception)

          raise result unless result.is_a?(MemberNotFound)
        end
      end

      def rows(definition, first, last, style) = board(definition).rows(first, last, style)
      def row(definition, member, style) = board(definition).row(member, style)
      def size(definition) = board(definition).size
      def banned(definition) = board(definition).banned

      # A season may end between the look for its board and the call.
      def export(definition, after, limit, season = nil)
        loop do
          found = board(definition, season).export(after, limit)
          return found if season.nil? || found.last == season
        end
      end

      def changes(definition, log_id, number) = board(definition).changes(log_id, number)
      def seasons(definition, limit) = board(definition).seasons(limit)

      private

      def show_or_nil(definition, member, style)
        show(definition, member, style)
      rescue MemberNotFound
        nil
      end

      # @return [Elah::Entity::Reference, Boards::Split]
      def board(definition, number = nil)
        return Boards::Split.new(definition, @boards, @deadline, @summaries) if definition.parts > 1

        number ? board_of_season(definition, number) : @boards[definition.key]
      end

      def board_of_season(definition, number)
        board = board(definition)
        is_ended = Boards::Seasons.find(@seasons, definition.key, number)&.ended?
        return board if !is_ended && board.seasons(1).first.number == number
        return @boards["#{definition.key}@#{number}"] if (is_ended || board.over?(number)) && number >= oldest_kept(definition)

        raise SeasonNotFound, "The leaderboard has no season #{number}; it may have been deleted."
      end

      def oldest_kept(definition) = Boards::Seasons.list(@seasons, definition.key, 1).first&.number.to_i - definition.seasons_kept

      # @return [Boolean] whether the member was there
      def delete_from_past(season, member)
        season.delete(member, false)
      rescue SeasonNotFound # it was pruned meanwhile
        false
      end
    end
  end
end
