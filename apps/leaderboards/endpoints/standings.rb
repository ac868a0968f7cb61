# frozen_string_literal: true

require_relative "support"

module Leaderboards
  module Endpoints
    # Owns the reading of ranks.
    class Standings < Elah::API
      format :json
      error_format :problem
      helpers Support
      Support.rescue_errors(self)

      TOP = 10
      DISTANCE = 5
      DISTANCE_MAX = 500

      desc "The first members"
      get("leaderboards/:id/top", raw: true) { answer(scores.top(definition, number("limit", TOP, 1..Support::ROWS_MAX), style)) }

      desc "A member with score and rank"
      get("leaderboards/:id/members/:member", raw: true, requirements: Support::MEMBER) { answer(scores.show(definition, member, style)) }

      desc "A member and its neighbours"
      get "leaderboards/:id/members/:member/around", raw: true, requirements: Support::MEMBER do
        answer(scores.around(definition, member, number("distance", DISTANCE, 0..DISTANCE_MAX), style))
      end
    end
  end
end
