# frozen_string_literal: true

require_relative "../board"
require_relative "../boards/together"
require_relative "../stores"

module Leaderboards
  module Stores
    # Keeps scores in the embedded store: each board is an entity, which one worker has and all workers call. {Stores} says what the
    # methods do.
    class Embedded
      # @return [Elah::Entity::Region] the boards
      attr_reader :boards

      # @param store [Elah::Store]
      # @param durability [Symbol] :disk or :memory
      def initialize(store, durability: :disk)
        Board.durability(durability)
        @boards = Board.in(store)
        @seasons = @boards.index(:seasons)
        @together = Boards::Together.new(store, @boards)
      end

      def start = Elah.every(Boards::Together::EVERY_SECONDS) { finish }

      # Does what writes to several boards have left behind.
      #
      # @return [Integer] how many there were
      def finish = @together.finish

      def submit(definition, member, score, operator, style, metadata = nil)
        @boards[definition.key].submit(member, score, operator, style, metadata)
      end

      def increment(definition, member, amount, key, style) = @boards[definition.key].increment(member, amount, key, style)

      def submit_together(submissions, key, style)
        @together.submit(submissions.map { |definition, *rest| Boards::Together::Part.new(definition.key, *rest) }, key, style)
      end

      def import(definition, rows, operator) = @boards[definition.key].import(rows, operator)

      def delete(definition, member, erase)
        was_there = @boards[definition.key].delete(member, erase)
        return was_there unless erase

        past(definition).map { |board| board.delete(member, false) }.push(was_there).any?
      end

      def ban(definition, member) = @boards[definition.key].ban(member)
      def pardon(definition, member) = @boards[definition.key].pardon(member)
      def begin_season(definition) = @boards[definition.key].begin_season

      def trim(definition, keep)
        board = @boards[definition.key]
        removed = 0
        until (count = board.trim(keep)).zero? do removed += count end
        removed
      end

      def remove(definition)
        board = @boards[definition.key]
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
        @boards.call_many(definitions.map { |definition| [definition.key, :show, member, style] }).map do |answer|
          next answer unless answer.is_a?(Exception)

          raise answer unless answer.is_a?(MemberNotFound)
        end
      end

      def rows(definition, first, last, style) = @boards[definition.key].rows(first, last, style)
      def row(definition, member, style) = @boards[definition.key].row(member, style)
      def size(definition) = @boards[definition.key].size
      def banned(definition) = @boards[definition.key].banned

      def export(definition, after, limit, season = nil) = board(definition, season).export(after, limit)
      def changes(definition, life, number) = @boards[definition.key].changes(life, number)
      def seasons(definition, limit) = @boards[definition.key].seasons(limit)

      private

      def board(definition, number) = number ? board_of_season(definition, number) : @boards[definition.key]

      def board_of_season(definition, number)
        board = @boards[definition.key]
        season = Boards::Seasons.find(@seasons, definition.key, number)
        return @boards["#{definition.key}@#{number}"] if season&.ended? || board.over?(number)
        return board if board.seasons(1).first.number == number

        raise SeasonNotFound, "The leaderboard has no season #{number}, or not any more."
      end

      # The boards of the seasons that have ended.
      def past(definition)
        @boards[definition.key].seasons(Definition::SEASONS_KEPT.end + 2).drop(1).map { |season| @boards["#{definition.key}@#{season.number}"] }
      end
    end
  end
end
