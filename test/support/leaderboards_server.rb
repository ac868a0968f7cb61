# frozen_string_literal: true

require_relative "app_server"

# Owns real leaderboards of a test: apps/leaderboards.
class LeaderboardsServer < AppServer
  APP = File.expand_path("../../apps/leaderboards/app.rb", __dir__)

  # @return [String] the path of a board that was made
  # @raise [RuntimeError] when it was refused
  def create(**fields)
    game = post("/games", { name: "Karts" }).json.fetch("id")
    answer = post("/games/#{game}/leaderboards", { name: "Points", **fields })
    answer.status == 201 ? "/leaderboards/#{answer.json['id']}" : raise("#{answer.status} #{answer.body}")
  end

  def submit(board, member, score, **fields) = put("#{board}/members/#{member}", { score: score, **fields })

  # @return [Array<Array(String, Object)>] the first members with their scores
  def top(board, count = 1000)
    get("#{board}/top?limit=#{count}").json.fetch("members").map { |row| row.values_at("member", "score") }
  end
end
