# frozen_string_literal: true

require_relative "../board"
require_relative "support"

module Leaderboards
  module Endpoints
    # The reads of ranks.
    class Standings < Elah::API
      TOP = 10
      DISTANCE = 5
      LIMIT = 100
      OFFSET_MAX = 100_000_000
      DISTANCE_MAX = 500
      BOARDS_MAX = 100
      RANKS = /\A([1-9]\d{0,14})\.\.(\d{1,15})\z/
      SCORES = /\A([^.].*?|)\.\.(.*)\z/
      CURSOR = /\A([1-9]\d{0,9})\.([\w-]{1,2000})\z/

      format :json
      helpers Support

      helpers do
        # @return [Array(Integer, Integer)]
        def ranks
          first, last = params["ranks"].to_s.match(RANKS)&.captures&.map(&:to_i)
          return [first, last] if first && last - first < Support::ROWS_MAX

          error!("ranks must be FIRST..LAST, at most #{Support::ROWS_MAX} of them.", 400, code: "invalid_ranks")
        end

        # @return [Boards::Reading::ScoreRange]
        def score_range
          from, to = params["scores"].to_s.match(SCORES)&.captures
          from or error!("scores must be FROM..TO, each a score or nothing.", 400, code: "invalid_scores")
          Boards::Reading::ScoreRange.new(bound(from), bound(to), number("offset", 0, 0..OFFSET_MAX), limit)
        end

        # Of several components, the first ones are enough. Always a list, since both ends of a range must be alike.
        def bound(text) = text.split(",").then { |parts| parts unless parts.empty? }

        # @return [String] a page of all
        def page
          after, before = params.values_at("after", "before")
          return scores.page(definition, nil, nil, limit, style, season) unless after || before

          number, cursor = (after || before).to_s.match(CURSOR)&.captures
          number && !(after && before) or error!("after or before must be a cursor of another page.", 400, code: "invalid_cursor")
          scores.page(definition, after && cursor, before && cursor, limit, style, number.to_i)
        end

        def limit = number("limit", LIMIT, 1..Support::ROWS_MAX)

        # @return [Array<Definition>]
        def boards
          ids = params["leaderboards"].to_s.split(",")
          return ids.map { |id| directory[id] } if ids.size.between?(1, BOARDS_MAX)

          error!("leaderboards must be a list of 1 to #{BOARDS_MAX} IDs.", 400, code: "invalid_leaderboards")
        end
      end

      desc "The first members"
      get "leaderboards/:id/top", raw: true do
        send_json(scores.top(definition, number("limit", TOP, 1..Support::ROWS_MAX), style, season))
      end

      desc "Members by rank, by score, or page by page"
      get "leaderboards/:id/members", raw: true do
        next send_json(page) if plain?
        next send_json(scores.ranks(definition, *ranks, style, season)) if params["ranks"]
        next send_json(scores.scores(definition, score_range, style, season)) if params["scores"]

        send_json(page)
      end

      desc "Some members, for example the friends of one"
      post "leaderboards/:id/list", raw: true do
        names = json_object["members"]
        unless names.is_a?(Array) && names.size.between?(1, Support::ROWS_MAX)
          raise InvalidMember, "members must be a list of 1 to #{Support::ROWS_MAX} members."
        end

        send_json(scores.list(definition, names.map { |name| checked(name) }.uniq, style, season))
      end

      desc "A member with score and rank"
      get "leaderboards/:id/members/:member", raw: true, requirements: Support::MEMBER do
        send_json(scores.show(definition, member, style, season))
      end

      desc "A member and its neighbours"
      get "leaderboards/:id/members/:member/around", raw: true, requirements: Support::MEMBER do
        send_json(scores.around(definition, member, number("distance", DISTANCE, 0..DISTANCE_MAX), style, season))
      end

      desc "One member over several leaderboards"
      get "members/:member/standings", raw: true, requirements: Support::MEMBER do
        found = boards
        rows = found.zip(scores.across(found, member, style))
        send_json(%({"standings":[#{rows.map { |board, row| %({"leaderboard":#{board.id},"standing":#{row || 'null'}}) }.join(',')}]}))
      end
    end
  end
end
