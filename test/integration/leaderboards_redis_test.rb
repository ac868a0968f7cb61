# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/leaderboards_server"
require_relative "../support/patience"
require_relative "../support/servers"

# The leaderboards on Redis when it goes away and comes back, and on a cluster that loses a node.
class LeaderboardsRedisTest < Minitest::Test
  include Patience

  INCREMENTS = 60
  # Season, seasons, sequence; order, members, distinct and counts of the season.
  KEYS_OF_A_BOARD = 7

  # A cluster takes seconds to see that a node is dead, and to put another in its place.
  def patience_seconds = 90

  def test_redis_stops_and_comes_back_with_every_score
    Servers::Redis.start do |redis|
      LeaderboardsServer.start(store: redis.url) do |server|
        board = server.create
        server.submit(board, "ann", 120)
        server.submit(board, "bob", 120)
        redis.stop
        answers = [server.submit(board, "cid", 1), server.get("#{board}/top")]
        assert_equal [[503, "store_unavailable"]], answers.map { |answer| [answer.status, answer.json["code"]] }.uniq
        assert_equal 200, server.get("/livez").status
        redis.start
        answer = server.get("#{board}/top") until answer && answer.status != 503
        assert_equal [["ann", 120], ["bob", 120]], server.top(board)
        assert_equal 3, server.submit(board, "cid", 1).json["rank"]
      end
    end
  end

  # Its keys are still there, and the worker knew them.
  def test_a_board_that_is_deleted_while_redis_is_away_is_not_shown_again
    Servers::Redis.start do |redis|
      LeaderboardsServer.start(store: redis.url) do |server|
        board, other = Array.new(2) { server.create.tap { |path| server.submit(path, "ann", 120) } }
        assert_equal [["ann", 120]], server.top(board)
        redis.stop
        assert_equal 503, server.request("DELETE", board).status
        redis.start
        wait_until("Redis is back") { server.get("#{other}/top").status == 200 }
        assert_equal 404, server.get("#{board}/top").status
      end
    end
  end

  # Redis is killed between two increments or in the middle of one; a client that does not know what became of it sends
  # it again.
  def test_increments_count_once_when_redis_is_killed
    Servers::Redis.start(durable: true) do |redis|
      LeaderboardsServer.start(store: redis.url) do |server|
        board = server.create
        answered = 0
        counting = Thread.new { INCREMENTS.times { |n| answered += 1 if increment(server, board, "key-#{n}") } }
        wait_until("some are answered") { answered > 20 }
        redis.kill
        redis.start
        counting.join
        assert_equal [INCREMENTS, INCREMENTS], [answered, server.get("#{board}/members/ann").json["score"]]
      end
    end
  end

  def test_a_cluster_goes_on_when_a_node_dies
    Servers::RedisCluster.start(masters: 3, replicas: 1) do |cluster|
      LeaderboardsServer.start(store: cluster.url.sub("redis:", "redis+cluster:")) do |server|
        boards = Array.new(12) { server.create.tap { |board| server.submit(board, "ann", 7) } }
        keys = cluster.nodes.map { |node| Elah::Redis.new(node.url) }
        wait_until("the replicas have all") do
          keys.sum { |node| node.call("DBSIZE") } == boards.size * KEYS_OF_A_BOARD * 2
        end
        cluster.nodes[1].kill
        wait_until { boards.all? { |board| server.get("#{board}/top").status == 200 } }
        assert_equal [[["ann", 7]]], boards.map { |board| server.top(board) }.uniq
        assert_equal [1], boards.map { |board| server.submit(board, "bob", 9).json["rank"] }.uniq
      end
    end
  end

  def test_a_silent_redis_holds_up_no_other_request
    Servers::Redis.start do |redis|
      LeaderboardsServer.start(store: redis.url, request_seconds: 3) do |server|
        board = server.create
        server.submit(board, "ann", 1)
        redis.pause
        waiting = Array.new(5) { Thread.new { server.get("#{board}/top").status } }
        assert_equal 200, server.get("/livez").status
        assert_equal [504], waiting.map(&:value).uniq
        redis.resume
        wait_until("it answers again") { server.get("#{board}/top").status == 200 }
        assert_equal [["ann", 1]], server.top(board)
      end
    end
  end

  # A query that says what holds anyway changes nothing.
  [{},
   { order: "asc", decimals: 2, ties: "member" },
   { order: %w[desc asc], decimals: [0, 3] },
   { season: "day" }].each_with_index do |settings, number|
    define_method("test_plain_reads_are_answered_as_all_others_#{number}") do
      Servers::Redis.start do |redis|
        LeaderboardsServer.start(store: redis.url) do |server|
          board = server.create(**settings)
          assert_reads_agree(server, board)
          is_list = Array(settings[:order]).size > 1
          score = is_list ? ->(number) { [number % 3, number] } : ->(number) { (number * 7 % 5) - 2 }
          14.times { |n| assert_equal 200, server.submit(board, "m#{n}", score.(n)).status }
          server.submit(board, "%22%C3%A9%22", score.(3))
          assert_reads_agree(server, board)
          assert_equal 204, server.put("#{board}/bans/m3").status
          assert_reads_agree(server, board)
          server.submit(board, "m5", score.(5), metadata: { name: "five" })
          assert_reads_agree(server, board)
          server.post("#{board}/seasons")
          server.submit(board, "m1", score.(1))
          assert_reads_agree(server, board)
          server.delete(board)
          assert_reads_agree(server, board)
        end
      end
    end
  end

  def test_an_unknown_store_is_told
    failure = assert_raises(ElahServer::Failure) do
      ElahServer.start(LeaderboardsServer::APP, store: "mysql://u:private@host/db")
    end
    assert_match(%r{store must be embedded or a URL that begins with redis://}, failure.message)
    refute_includes failure.message, "private"
  end

  private

  def assert_reads_agree(server, board)
    %w[top members/m1 members/m1/around members/m3 members/m3/around members/m5 members/%22%C3%A9%22
       members/%22%C3%A9%22/around members/nobody].each do |path|
      with_query, without = ["?rank=ordinal", ""].map do |query|
        answer = server.get("#{board}/#{path}#{query}")
        [answer.status, answer["content-type"], answer.json.except("request_id"), (answer.body if answer.status == 200)]
      end
      assert_equal with_query, without, path
    end
  end

  # Until it is answered with what it did.
  def increment(server, board, key)
    wait_until do
      server.post("#{board}/members/ann/increments", { by: 1 }, headers: { "Idempotency-Key" => key }).status == 200
    end
    true
  end
end
