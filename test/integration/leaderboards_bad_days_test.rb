# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/leaderboards_server"
require_relative "../support/patience"

# The leaderboards when they are killed, when the store is full, and when somebody has no key.
class LeaderboardsBadDaysTest < Minitest::Test
  include Patience

  def test_what_was_answered_outlives_a_kill
    LeaderboardsServer.start do |server|
      board = server.create
      server.submit(board, "ann", 120)
      server.submit(board, "bob", 120)
      server.submit(board, "ann", 7, operator: "set")
      server.submit(board, "ann", 120)
      server.kill_and_restart
      assert_equal [["bob", 120], ["ann", 120]], server.top(board), "who had the score first is first"
      assert_equal 3, server.submit(board, "cid", 120).json["rank"]
    end
  end

  # In memory a score may be lost with the process, but not one of several that belong together.
  def test_writes_to_several_boards_are_whole_also_where_answers_do_not_wait_for_the_disk
    LeaderboardsServer.start(settings: { leaderboards_durability: "memory" }) do |server|
      boards = Array.new(3) { server.create(operator: "sum") }
      parts = boards.map { |board| { leaderboard: board[/\d+/], member: "ann", score: 1 } }
      2.times do |n|
        answer = server.post("/submissions", { submissions: parts }, headers: { "Idempotency-Key" => "key-#{n}" })
        assert_equal 200, answer.status
      end
      server.kill_and_restart
      wait_until("what was decided is done") { boards.map { |board| server.top(board) } == [[["ann", 2]]] * 3 }
      assert_equal 200,
                   server.post("/submissions", { submissions: parts }, headers: { "Idempotency-Key" => "key-0" }).status
      assert_equal [[["ann", 2]]] * 3, boards.map { |board| server.top(board) }, "once"
    end
  end

  def test_a_full_store_says_so_and_the_board_goes_on
    LeaderboardsServer.start(store_bytes_max: "1M") do |server|
      board = server.create
      statuses = server.process.connect do |client|
        Array.new(20_000) do |n|
          answer = client.request("PUT", "#{board}/members/#{n}#{'x' * 200}",
                                  body: %({"score":#{n}}), headers: { "Content-Type" => "application/json" })
          break [answer.status, answer.json["code"], n] unless answer.status == 200
        end
      end
      assert_equal [507, "store_full"], statuses.first(2)
      assert_equal statuses.last, server.get("#{board}/top").json["size"], "what was refused is not there"
    end
  end

  # It arrives in pieces, and ended the import of all that came after it.
  def test_an_import_goes_on_behind_a_line_that_is_too_long
    LeaderboardsServer.start do |server|
      board = server.create
      lines = [%({"member":"ann","score":1}),
               %({"member":"bob","score":2,"metadata":"#{'x' * 1_000_000}"}),
               %({"member":"cid","score":3})]
      answer = server.process.request("POST", "#{board}/import",
                                      body: lines.join("\n"), headers: { "Content-Type" => "application/x-ndjson" })
      assert_equal({ "lines" => 3, "imported" => 2, "failed" => 1,
                     "failures" => [{ "line" => 2, "code" => "line_too_long" }] }, answer.json)
      assert_equal [["cid", 3], ["ann", 1]], server.top(board)
    end
  end

  def test_the_key_is_asked_of_who_writes
    LeaderboardsServer.start(settings: { leaderboards_api_key: "secret" }) do |server|
      key = { "X-Api-Key" => "secret" }
      assert_equal 401, server.post("/games", { name: "x" }).status
      game = server.post("/games", { name: "x" }, headers: key).json["id"]
      assert_equal 401, server.post("/games/#{game}/leaderboards", { name: "x" }).status
      board = "/leaderboards/#{server.post("/games/#{game}/leaderboards", { name: 'x' }, headers: key).json['id']}"
      written = [server.put("#{board}/members/ann", { score: 1 }),
                 server.put("#{board}/members/ann", { score: 1 }, headers: key)]
      assert_equal [401, 200], written.map(&:status)
      read = [server.get("#{board}/top"), server.get("/games/#{game}/leaderboards"), server.get("#{board}/export")]
      assert_equal [200, 200, 401], read.map(&:status)
    end
  end

  def test_wrong_settings_are_told
    error = assert_raises(ElahServer::Failure) do
      ElahServer.start(LeaderboardsServer::APP, arguments: ["--set", "leaderboards_durability=paper"])
    end
    assert_match(/leaderboards_durability must be disk or memory, not paper/, error.message)
  end

  def test_a_board_takes_no_more_members_than_it_may
    LeaderboardsServer.start do |server|
      board = server.create(members_max: 1)
      assert_equal 200, server.submit(board, "ann", 1).status
      assert_equal [409, "leaderboard_full"],
                   server.submit(board, "bob", 2).then { |answer| [answer.status, answer.json["code"]] }
      assert_equal 200, server.submit(board, "ann", 2).status
    end
  end
end
