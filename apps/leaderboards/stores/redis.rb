# frozen_string_literal: true

require_relative "../boards/multi_board_writes"
require_relative "../errors"
require_relative "../stores"
require_relative "redis/board"

module Leaderboards
  module Stores
    # Keeps scores in Redis, or in a Redis Cluster. {Stores} describes the methods, and {Board} the keys. Each operation is one
    # step on the server.
    class Redis
      # Boards that a worker caches.
      REMEMBERED_MAX = 10_000

      # @param opening [Opening]
      # @return [Redis]
      def self.open(opening) = new(Elah::Redis.new(opening.store), name_of(opening.embedded), opening.embedded)

      # Board numbers restart in every data folder, and folders may share a Redis.
      def self.name_of(store)
        table = store.table("service")
        table.get("redis") || store.transaction do |tx|
          tx.get(table, "redis") || Random.urandom(8).unpack1("H*").tap { |name| tx.put(table, "redis", name) }
        end
      end
      private_class_method :name_of

      # @param redis [Elah::Redis]
      # @param name [String] before the ids of boards in their keys
      # @param store [Elah::Store] for writes to several boards that are under way
      # @param clock [#now, nil] seconds since 1970; nil is the service's
      def initialize(redis, name, store, clock: nil)
        @scripts = Board::Programs.of(redis)
        @redis = redis
        @name = name
        @clock = clock
        @boards = {}.compare_by_identity
        @multi_board_writes = Boards::MultiBoardWrites.new(store, self)
      end

      def start = Elah.every(Boards::MultiBoardWrites::EVERY_SECONDS) { finish }

      # Finishes writes to several boards that a killed process has left unfinished.
      #
      # @return [Integer] how many there were
      def finish = @multi_board_writes.finish

      def submit(definition, member, score, operator, style, metadata = nil)
        board = board(definition)
        board.text.submission(board.submit(member, score, operator || definition.operator, style, metadata: metadata).first)
      end

      def increment(definition, member, amount, key, style)
        board = board(definition)
        request = "increment #{member} #{Elah::JSON.generate(amount)}"
        submission, is_replay = board.submit(member, amount, :increment, style, key: key, request: request)
        [board.text.submission(submission), is_replay]
      end

      def submit_to_boards(submissions, key, style)
        @multi_board_writes.submit(submissions.map { |definition, *rest| Boards::MultiBoardWrites::Part.new(definition.key, *rest) }, key, style)
      end

      # Parts of a write to several boards, for {Boards::MultiBoardWrites}.
      #
      # @param calls [Array<Array>] id, method and arguments
      # @return [Array] what each returns, or the error that it raises
      def call_many(calls)
        calls.map do |id, name, *arguments|
          board(Leaderboards.service.directory[id]).public_send(name, *arguments)
        rescue Refused => e
          e
        end
      end

      def import(definition, rows, operator) = board(definition).import(rows, operator)

      def put_metadata(definition, member, metadata, style)
        board(definition).put_metadata(member, metadata)
        show(definition, member, style)
      end

      def delete(definition, member, erase) = board(definition).delete(member, erase)
      def ban(definition, member) = board(definition).ban(member, true) && nil
      def pardon(definition, member) = board(definition).ban(member, false)
      def trim(definition, keep) = board(definition).trim(keep)
      def begin_season(definition) = board(definition).begin_season.number

      def remove(definition) = board(definition).remove

      def show(definition, member, style, season = nil) = board(definition).then { |board| board.row_text(board.one(member, style, season)) }
      def top(definition, count, style, season = nil) = ranks(definition, 1, count, style, season)
      def around(definition, member, distance, style, season = nil) = board(definition).around(member, distance, style, season).to_json
      def ranks(definition, first, last, style, season = nil) = board(definition).range(first, last, style, season).to_json
      def scores(definition, range, style, season = nil) = board(definition).scores(range, style, season)
      def page(definition, after, before, limit, style, season = nil) = board(definition).page(after, before, limit, style, season)
      def list(definition, members, style, season = nil) = board(definition).list(members, style, season)
      def percentile(definition, member, season = nil) = board(definition).percentile(member, season)
      def scores_at(definition, percents, season = nil) = board(definition).scores_at(percents, season)
      def histogram(definition, bounds, buckets, season = nil) = board(definition).histogram(bounds, buckets, season)

      def across(definitions, member, style)
        definitions.map do |definition|
          show(definition, member, style)
        rescue MemberNotFound
          nil
        end
      end

      def rows(definition, first, last, style) = board(definition).range(first, last, style, nil).rows
      def row(definition, member, style) = board(definition).one(member, style, nil)
      def size(definition) = board(definition).range(1, 0, :ordinal, nil).size
      def banned(definition) = board(definition).banned
      def export(definition, after, limit, season = nil) = board(definition).export(after, limit, season)
      def changes(definition, log_id, number) = board(definition).changes(log_id, number)
      def seasons(definition, limit) = board(definition).seasons(limit)

      private

      def board(definition)
        @boards[definition] || begin
          raise NotInParts, "A leaderboard in Redis must have one part." if definition.parts > 1

          @boards.clear if @boards.size >= REMEMBERED_MAX
          @boards[definition] = Board.new(@redis, @scripts, @name, definition, @clock || Leaderboards.service.clock)
        end
      end
    end
  end
end
