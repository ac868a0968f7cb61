# frozen_string_literal: true

# The look-up of score and rank in the original's tables by Elah::SQL, in one statement that waits in the database.
require "elah"
require "elah/api"

WAIT_SECONDS = Float(ENV.fetch("LEADERBOARDS_WAIT_SECONDS"))
DATABASE = Elah::SQL.new(ENV.fetch("LEADERBOARDS_DATABASE_URL"), connections_max: Integer(ENV.fetch("LEADERBOARDS_POOL")))
LOOK_UP = <<~SQL
  SELECT s.value AS score, 1 + (SELECT count(*) FROM scores b WHERE b.leaderboard_id = s.leaderboard_id AND b.value > s.value) AS `rank`
  FROM scores s WHERE s.leaderboard_id = ? AND s.user_id = ? AND sleep(?) = 0
SQL

# Owns the one route.
class LeaderboardsWaiting < Elah::API
  format :json

  get "leaderboards/:leaderboard_id/users/:id" do
    DATABASE.first(LOOK_UP, params[:leaderboard_id].to_i, params[:id].to_i, WAIT_SECONDS) || error!("There is no such score.", 404)
  end
end

run LeaderboardsWaiting
