# frozen_string_literal: true

require_relative "support"

module Leaderboards
  module Endpoints
    # The original's reads of scores: pages of ten users, and one user with score and rank. Equal scores share a rank there.
    class Original < Elah::API
      format :json
      helpers Support

      helpers do
        def board = directory[params["leaderboard_id"].to_s]

        # @return [Object] a score as a value for JSON
        def value(score) = score.is_a?(Array) ? score.map { |part| value(part) } : (score.is_a?(Integer) ? score : score.to_s("F"))
      end

      namespace "leaderboards/:leaderboard_id/users" do
        desc "Users, the best first, ten on a page"
        get do
          before = pages_before(100_000_000)
          scores.rows(board, before + 1, before + Support::PAGE_SIZE, :competition)
                .map { |row| { user_id: row.member, value: value(row.score), rank: row.rank } }
        end

        desc "The score and the rank of a user"
        get ":id", requirements: { id: Support::MEMBER[:member] } do
          row = scores.row(board, checked(params["id"].delete_suffix(".json")), :competition)
          { score: value(row.score), rank: row.rank }
        end
      end
    end
  end
end
