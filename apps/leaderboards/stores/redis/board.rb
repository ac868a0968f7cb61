# frozen_string_literal: true

require "digest/sha2"
require_relative "../../boards/multi_board_writes"
require_relative "../../text"
require_relative "order"
require_relative "scripts"
require_relative "seasons"
require_relative "statistics"
require_relative "view"

module Leaderboards
  module Stores
    class Redis
      # Owns one board. Its keys begin with a stem, leaderboards:{NAME:ID}, where NAME is the data folder's own:
      #
      #   STEM:N:order      of season N: sorted set of sort key, sequence and member, all with the score 0
      #   STEM:N:members    hash: member => sort key and sequence
      #   STEM:N:distinct   sorted set of the sort keys in use
      #   STEM:N:counts     hash: sort key => how many have it
      #   STEM:N!:...       the same four for banned members
      #   STEM:sequence     the number of the last write, which says who was earliest
      #   STEM:season       the number of the current season; `gone` permanently after the board was deleted
      #   STEM:seasons      hash: number => begin, planned end, actual end
      #   STEM:metadata     hash: member => JSON
      #   STEM:banned       set of members
      #   STEM:request:KEY  the response to an increment with that Idempotency-Key, for a day; results of parts, see {Boards::MultiBoardWrites}
      #   STEM:log_id, STEM:changes, STEM:changed   the log for the feed, while the board has listeners: its ID, the last changes, their total number
      #
      # The score of a sorted set is a double, exact to 2^53. Members with equal scores are in the order of their bytes. So all have the score 0,
      # and their bytes contain the order: 64-bit scores, decimals and several components are exact, and the earliest of equals ranks first.
      class Board
        include Seasons
        include Statistics

        # More members than a board can have.
        ALL = 1_000_000_000
        TRIMMED_AT_ONCE = 1000
        # How long changes are recorded after somebody has read them.
        FOLLOWED_SECONDS = 300

        # The scripts, shared by all boards.
        Programs = Struct.new(:submit, :metadata, :rows, :changes, :delete, :ban, :trim, :advance, :remove) do
          # @param redis [Elah::Redis]
          # @return [Programs]
          def self.of(redis) = new(*members.map { |name| redis.script(Scripts.const_get(name.upcase)) })
        end

        # @return [Text]
        attr_reader :text
        # @return [Array<String>] the key of the current season, which scripts are given
        attr_reader :keys

        # @param redis [Elah::Redis]
        # @param programs [Programs]
        # @param name [String] of the data folder
        # @param definition [Definition]
        # @param clock [#now]
        def initialize(redis, programs, name, definition, clock)
          @redis = redis
          @programs = programs
          @stem = "leaderboards:{#{name}:#{definition.key}}"
          @keys = ["#{@stem}:season"].freeze
          @definition = definition
          @order = Order.new(definition)
          @text = Text.new(definition)
          @clock = clock
          @season = @calendar = nil
        end

        # @param member [String]
        # @param score [Object] as a client sends it
        # @param operator [Symbol]
        # @param style [Symbol]
        # @param metadata [String, nil] JSON
        # @param key [String] Idempotency-Key
        # @param request [String] identifies the operation and its arguments
        # @param mode [String] `check` changes nothing, `decided` is accepted by a full board
        # @return [Array(Elah::RankedSet::Submission, Boolean)] the result, and whether this is a replay
        # @raise [InvalidScore, BoardFull, IdempotencyMismatch]
        def submit(member, score, operator, style, metadata: nil, key: "", request: "", mode: "")
          reply = run(@programs.submit, *arguments(member, score, operator, style, metadata, key, request, mode))
          [submission(member, *reply), reply.last == 1]
        end

        # Submits many scores in one round trip.
        #
        # @param rows [Array<Array>] member, score and metadata of each
        # @param operator [Symbol]
        # @return [Array<Array(Integer, String)>] the index and the code of each that was refused
        def import(rows, operator)
          failures = []
          runs = rows.each_with_index.filter_map do |(member, score, metadata), index|
            [index, member, arguments(member, score, operator, :ordinal, metadata, "", "", "")]
          rescue InvalidScore => e
            failures << [index, e.code] && nil
          end
          runs.zip(run_each(@programs.submit, runs.map(&:last))) do |(index, member, _), reply|
            submission(member, *reply)
          rescue Refused => e
            failures << [index, e.code]
          end
          failures.sort
        end

        # Checks that submissions can be parts of a write to several boards, like {Boards::Writing#check}.
        #
        # @param submissions [Array<Array>] member, score and operator of each
        # @raise [InvalidScore, BoardFull]
        def check(submissions)
          submissions.each_with_index do |(member, score, operator), index|
            own, others = submissions.first(index).partition { |earlier, *| earlier == member }
            others = others.map(&:first).uniq
            reply = run(@programs.submit, *arguments(member, score, operator, :ordinal, nil, "", "", "check"), others.size, *others,
                        *own.flat_map { |_, earlier, with| [@order.sort_key(earlier), with] })
            score = submission(member, *reply).score
            Boards::MultiBoardWrites.check_room(@text.components(score)) if operator == :increment
          end
        end

        # Applies a part of a decided write to several boards, once.
        #
        # @param key [String] of the part
        # @param (see #submit)
        # @return [String] the result of the submission
        def carry_out(key, member, score, operator, style)
          @text.submission(submit(member, score, operator, style, key: "multi-board #{key}", mode: "decided").first)
        end

        # (see Boards::Writing#finished)
        def finished(keys)
          @redis.pipelined { |batch| keys.each { |key| batch.expire("#{@stem}:request:multi-board #{key}", Boards::StoredResponses::KEPT_SECONDS) } }
        end

        # @param log_id [String, nil] of the log that the reader has read
        # @param number [Integer] of the last change that it has
        # @return [Array] season, size, and the result of {Boards::Changes#since}
        def changes(log_id, number)
          season, size, log_id, number, changes = run(@programs.changes, log_id, number, Random.urandom(4).unpack1("H*"), FOLLOWED_SECONDS)
          texts = changes&.map { |change| @text.submission(submission(change.first.force_encoding(Encoding::UTF_8), *change.drop(1), 1)) }
          [season.to_i, size, log_id, number, texts]
        end

        # @param member [String]
        # @param metadata [String] JSON
        # @raise [MemberNotFound]
        def put_metadata(member, metadata)
          run(@programs.metadata, member, metadata) == [1] or no_member!(member)
        end

        # @param member [String]
        # @param erase [Boolean]
        # @return [Boolean] whether it was there
        def delete(member, erase) = run(@programs.delete, @order.width, member, erase ? 1 : 0) == [1]

        # @param member [String]
        # @param ban [Boolean]
        # @return [Boolean] whether that is new
        def ban(member, ban) = run(@programs.ban, @order.width, member, ban ? 1 : 0) == [1]

        # @return [Array<String>]
        def banned = @redis.smembers("#{@stem}:banned").each { |name| name.force_encoding(Encoding::UTF_8) }.sort

        # @param keep [Integer]
        # @return [Integer] how many were removed
        def trim(keep)
          removed = 0
          until (count = run(@programs.trim, @order.width, @order.head, keep, TRIMMED_AT_ONCE).first).zero? do removed += count end
          removed
        end

        # Deletes all data.
        def remove
          @programs.remove.call(keys: @keys)
          nil
        end

        # @param first [Integer] ordinal rank
        # @param last [Integer]
        # @param style [Symbol]
        # @param season [Integer, nil]
        # @return [View]
        def range(first, last, style, season) = rows(season, style, :range, first - 1, last - 1)

        # @return [Elah::RankedSet::Row]
        # @raise [MemberNotFound]
        def one(member, style, season) = rows(season, style, :one, member).rows.first || no_member!(member)

        # @return [View]
        # @raise [MemberNotFound]
        def around(member, distance, style, season)
          rows(season, style, :around, member, distance).tap { |view| no_member!(member) if view.rows.empty? }
        end

        # @param range [Boards::Reading::ScoreRange]
        # @return [String]
        def scores(range, style, season)
          view = rows(season, style, :between, *@order.points(range.from..range.to), range.offset, range.limit)
          view.to_json(%(,"count":#{view.first}))
        end

        # @param after [String, nil] cursor
        # @param limit [Integer]
        # @param season [Integer, nil]
        # @return [Array(String, (String, nil), Integer)] lines of JSON, where the next ones begin, and their season
        def export(after, limit, season)
          view = after ? rows(season, :ordinal, :after, @order.place_in(after), limit) : rows(season, :ordinal, :range, 0, limit - 1)
          lines = view.rows.map do |row|
            %({"member":#{@text.name(row.member)},"score":#{@text.score(row.score)}#{row.metadata && %(,"metadata":#{row.metadata})}}\n)
          end
          last = view.places.last if view.rows.any? && view.first + view.rows.size < view.size
          [lines.join, last && @order.cursor(last), view.season.to_i]
        end

        # @return [String]
        # @raise [InvalidCursor]
        def page(after, before, limit, style, season)
          view = if (cursor = after || before)
                   rows(season, style, after ? :after : :before, @order.place_in(cursor), limit)
                 else
                   rows(season, style, :range, 0, limit - 1)
                 end
          behind = view.places.last if view.first + view.rows.size < view.size
          view.to_json(%(,"after":#{cursor_text(view, behind)},"before":#{cursor_text(view, view.first.positive? ? view.places.first : nil)}))
        end

        # @return [String] the existing members in the order of their ranks, and the names of the others
        def list(members, style, season)
          view = rows(season, style, :list, *members)
          found = view.places.zip(view.rows).select(&:first).sort_by(&:first)
          texts = found.each_with_index.map { |(_, row), index| row_text(row, index + 1) }
          missing = (members - found.map { |_, row| row.member }).map { |name| @text.name(name) }
          %({"season":#{view.season},"size":#{view.size},"members":[#{texts.join(',')}],"missing":[#{missing.join(',')}]})
        end

        # @param row [Order::Row]
        # @param position [Integer, nil]
        # @return [String] JSON
        def row_text(row, position = nil) = @text.row(row, row.metadata, position)

        private

        def arguments(member, score, operator, style, metadata, key, request, mode)
          kept_seconds = mode == "decided" ? Boards::MultiBoardWrites::UNFINISHED_SECONDS : Boards::StoredResponses::KEPT_SECONDS
          [member, @order.sort_key(score), operator, style, @order.directions, @order.ties, @definition.members_max, metadata || "", key,
           key.empty? ? "" : Digest::SHA256.digest(request), kept_seconds, FOLLOWED_SECONDS, mode]
        end

        # @return [View]
        def rows(season, style, *what)
          number, size, first, *flat = run(@programs.rows, season, style, @order.width, @order.head, *what)
          places = flat.each_slice(3).map { |place, rank, metadata| [place, place && @order.row(place, rank, metadata)] }
          View.new(self, number, size, first, places.map(&:first), places.map(&:last))
        end

        # Runs a script in the current season. Redis reports OOM when `maxmemory` is reached and nothing may be evicted.
        def run(script, *arguments)
          advance_season(@season) while due? # others may have advanced before, to a season that is over too
          arguments.map! { |argument| argument.nil? ? "" : argument }
          reply = taking_room { script.call(keys: @keys, args: arguments) }
          case reply.first
          when "new" then advance_season(nil) && run(script, *arguments)
          when "gone" then raise BoardNotFound, "There is no leaderboard #{@definition.key}."
          when "no_season" then raise SeasonNotFound, "The leaderboard has no season #{arguments.first}; it may have been deleted."
          else reply
          end
        end

        # The first script runs alone: it begins the season of a new board, or finds that the board is deleted.
        def run_each(script, runs)
          return [] if runs.empty?

          [run(script, *runs.first)] + taking_room { script.call_each(runs.drop(1).map { |arguments| { keys: @keys, args: arguments } }) }
        end

        def taking_room
          yield
        rescue Elah::Redis::Error => e
          e.code == "OOM" ? raise(Elah::Store::Full, e.message) : raise
        end

        def submission(member, rank, sort_key = nil, previous_rank = nil, previous = nil, changed = nil, _ = nil)
          case rank
          when "full" then raise BoardFull, "The leaderboard has #{@definition.members_max} members, which is its maximum."
          when "out_of_range" then raise InvalidScore, "The sum with #{@text.score(@order.score(sort_key))} is out of range."
          when "mismatch" then raise IdempotencyMismatch, "Another request came with this Idempotency-Key before."
          end
          Elah::RankedSet::Submission.new(member, @order.score(sort_key), @order.rank(rank), previous && @order.score(previous),
                                          @order.rank(previous_rank), changed == 1)
        end

        def cursor_text(view, place) = place ? %("#{view.season}.#{@order.cursor(place)}") : "null"

        def no_member!(member) = raise(MemberNotFound, "The leaderboard has no member #{member.inspect[0, 64]}.")
      end
    end
  end
end
