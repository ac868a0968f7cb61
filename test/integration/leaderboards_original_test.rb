# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/gems"
require_relative "../support/leaderboards_server"
require_relative "../support/servers"

# The original's six routes, by the app and by the same API in Grape and ActiveRecord on MariaDB: the same answers from
# both, without the original's faults.
class LeaderboardsOriginalTest < Minitest::Test
  GRAPE = File.expand_path("../../apps/leaderboards/grape_active_record/config.ru", __dir__)

  # The one on Grape, with the calls of the other.
  class GrapeServer < LeaderboardsServer
    APP = GRAPE
  end

  DATABASE = "LEADERBOARDS_DATABASE_URL"
  SERVERS = { "app" => -> { LeaderboardsServer.new({}, {}) },
              "grape" => -> { GrapeServer.new({}, env: { DATABASE => Servers::MariaDB.shared.url }) } }.freeze

  def self.server(name)
    @servers ||= {}
    @servers[name] ||= SERVERS.fetch(name).call.tap do |server|
      Minitest.after_run { server.process.stop && server.remove }
    end
  end

  def setup = name.end_with?("_grape") && Gems.missing("grape")&.then { |reason| skip reason }

  SERVERS.each_key do |name|
    define_method("test_boards_are_made_listed_shown_and_renamed_#{name}") do
      server = self.class.server(name)
      game = server.post("/games", { name: "Chess" }).json["id"]
      boards = Array.new(12) { |n| server.post("/games/#{game}/leaderboards.json", { name: "Board #{n}" }).json }
      assert_equal ["Board 3", game], boards[3].values_at("name", "game_id")
      pages = (1..3).map do |page|
        server.get("/games/#{game}/leaderboards.json?page=#{page}").json.map { |board| board["name"] }
      end
      assert_equal [10, 2, 0], pages.map(&:size)
      assert_equal "Board 11", pages[1].last
      assert_equal "Rapid",
                   server.put("/games/#{game}/leaderboards/#{boards[0]['id']}.json", { name: "Rapid" }).json["name"]
      assert_equal "Rapid", server.get("/games/#{game}/leaderboards/#{boards[0]['id']}.json").json["name"]
    end

    define_method("test_equal_scores_share_a_rank_and_other_boards_do_not_count_#{name}") do
      server = self.class.server(name)
      game = server.post("/games", { name: "Chess" }).json["id"]
      one, other = Array.new(2) { server.post("/games/#{game}/leaderboards", { name: "Blitz" }).json["id"] }
      { 1 => 50, 2 => 70, 3 => 50, 4 => 10 }.each { |user, score| submit(server, one, user, score) }
      20.times { |n| submit(server, other, n + 1, 1000) }
      ranks = [1, 2, 3, 4].map do |user|
        server.get("/leaderboards/#{one}/users/#{user}.json").json.values_at("score", "rank")
      end
      assert_equal [[50, 2], [70, 1], [50, 2], [10, 4]], ranks
      rows = server.get("/leaderboards/#{one}/users.json").json
      assert_equal [[70, 1], [50, 2], [50, 2], [10, 4]], rows.map { |row| row.values_at("value", "rank") }
      assert_equal [10, 10, 0],
                   (1..3).map { |page| server.get("/leaderboards/#{other}/users.json?page=#{page}").json.size }
      submit(server, one, 4, 60)
      assert_equal [60, 2], server.get("/leaderboards/#{one}/users/4.json").json.values_at("score", "rank")
    end

    define_method("test_what_is_not_there_is_404_with_a_code_#{name}") do
      server = self.class.server(name)
      game = server.post("/games", { name: "Chess" }).json["id"]
      board = server.post("/games/#{game}/leaderboards", { name: "Blitz" }).json["id"]
      paths = ["/games/999999999/leaderboards", "/games/#{game}/leaderboards/999999999",
               "/leaderboards/999999999/users", "/leaderboards/#{board}/users/9"]
      codes = paths.map { |path| server.get(path) }.map { |answer| [answer.status, answer.json["code"]] }
      assert_equal %w[game_not_found leaderboard_not_found leaderboard_not_found member_not_found], codes.map(&:last)
      assert_equal [404], codes.map(&:first).uniq
      assert_includes [400, 422], server.put("/leaderboards/#{board}/members/1", { score: 2**63 }).status
    end
  end

  private

  def submit(server, board, user, score)
    answer = server.put("/leaderboards/#{board}/members/#{user}", { score: score, operator: "set" })
    assert_equal 200, answer.status, answer.body
  end
end
