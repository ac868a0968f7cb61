# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "support/patience"
require "support/servers"

# Requests that a script of Redis answers before the handler begins, those that are left alone, and bad days of the server: the handler meets then
# what it would have met without a responder.
class RedisResponderTest < Minitest::Test
  include Patience

  APP = File.expand_path("../support/apps/ranks.rb", __dir__)
  SIGN = 2**63

  def start(options = {}, **settings)
    Servers::Redis.start do |redis|
      arguments = { ranks_redis: redis.url, **settings }.flat_map { |name, value| ["--set", "#{name}=#{value}"] }
      ElahServer.start(APP, arguments: arguments, **options) do |server|
        { "ann" => [3, 1], "bob" => [5, 2], "d%C3%A4n" => [-1, 3] }.each { |member, (score, sequence)| put(server, "points", member, [~(score + SIGN), sequence]) }
        assert_equal :left_alone, get(server, "points/ann"), "nothing is known of it yet"
        assert_equal 201, server.request("POST", "/ranks/points").status
        yield server, redis
      end
    end
  end

  # A word of 64 bits for each component and the sequence.
  def put(server, id, member, words)
    body = JSON.generate(place: words.map { |word| word % (2**64) }.pack("Q>*").unpack1("H*"))
    answer = server.request("PUT", "/ranks/#{id}/#{member}", body: body, headers: { "Content-Type" => "application/json" })
    assert_equal 200, answer.status, answer.body
  end

  def get(server, path)
    answer = server.get("/ranks/#{path}")
    answer.status == 202 ? :left_alone : answer.json
  end

  # The status, and the class of what the handler met.
  def told(server) = server.get("/ranks/points/ann").then { |answer| [answer.status, answer.body[/\A[\w:]+\w/]] }

  def row(rank, member, score) = { "rank" => rank, "member" => member, "score" => score }

  def test_plain_requests_are_answered_by_the_script
    start do |server|
      assert_equal row(2, "ann", 3), get(server, "points/ann")
      assert_equal row(3, "d\u00e4n", -1), get(server, "points/d%C3%A4n")
      assert_equal({ "version" => 7, "size" => 3, "members" => [row(1, "bob", 5), row(2, "ann", 3)] }, get(server, "points/top"))
      assert_equal({ "version" => 7, "size" => 3, "members" => [row(2, "ann", 3), row(3, "d\u00e4n", -1)] }, get(server, "points/from/ann"))
      answer = server.request("HEAD", "/ranks/points/ann")
      assert_equal [200, "", "application/json"], [answer.status, answer.body, answer["content-type"]]
      assert_equal({ "left alone" => 1 }, server.get("/counts").json)
    end
  end

  def test_scores_of_several_components_and_ties_by_member
    start do |server|
      put(server, "times", "ann", [1250 + SIGN, ~(7 + SIGN)])
      put(server, "times", "bob", [-5 + SIGN, ~(-8 + SIGN)])
      server.request("POST", "/ranks/times")
      assert_equal [row(1, "bob", ["-0.05", -8]), row(2, "ann", ["12.50", 7])], get(server, "times/top")["members"]
      assert_equal row(2, "ann", ["12.50", 7]), get(server, "times/ann")
    end
  end

  def test_what_is_not_plain_is_left_to_the_handler
    start do |server|
      paths = ["points/eve", "points/ann?x=1", "points/top?x=1", "points/#{'x' * 11}", "other/ann", "other/top"]
      assert_equal [:left_alone], paths.map { |path| get(server, path) }.uniq
      assert_equal :left_alone, get(server, "points/from/eve"), "the script fails"
      assert_equal row(2, "ann", 3), get(server, "points/ann")
      assert_equal({ "left alone" => paths.size + 2 }, server.get("/counts").json, "each of them begins once")
      server.request("DELETE", "/ranks")
      assert_equal [:left_alone] * 2, [get(server, "points/ann"), get(server, "points/top")]
    end
  end

  def test_what_is_no_place_is_left_to_the_handler
    start do |server|
      put(server, "points", "low", [1])
      assert_equal :left_alone, get(server, "points/low")
    end
  end

  def test_a_script_that_the_server_has_forgotten_is_sent_again
    start do |server, redis|
      assert_equal row(2, "ann", 3), get(server, "points/ann")
      Elah::Redis.new(redis.url).call("SCRIPT", "FLUSH")
      assert_equal [:left_alone, row(2, "ann", 3), row(2, "ann", 3)], Array.new(3) { get(server, "points/ann") }
    end
  end

  def test_a_script_that_fails_for_a_member_is_not_sent_again
    start do |server, redis|
      assert_equal row(2, "ann", 3), get(server, "points/from/ann")["members"].first
      sent = -> { Elah::Redis.new(redis.url).call("INFO", "commandstats")[/cmdstat_eval:calls=(\d+)/, 1] }
      before = sent.call
      assert_equal :left_alone, get(server, "points/from/eve")
      assert_equal row(2, "ann", 3), get(server, "points/from/ann")["members"].first
      assert_equal before, sent.call
    end
  end

  def test_many_at_once
    start do |server|
      answers = Array.new(8) { Thread.new { server.connect { |client| Array.new(50) { |index| client.request("GET", "/ranks/points/#{%w[ann bob][index % 2]}").json["rank"] } } } }
      assert_equal [[2, 1] * 25], answers.map(&:value).uniq
    end
  end

  def test_a_server_that_is_away_is_told_by_the_handler_and_found_again
    start do |server, redis|
      assert_equal row(2, "ann", 3), get(server, "points/ann")
      redis.stop
      assert_equal [503, "Elah::Unavailable"], told(server)
      redis.start
      wait_until("it answers again") { get(server, "points/ann") == row(2, "ann", 3) }
    end
  end

  # The handler does not wait once more.
  def test_a_silent_server_costs_a_request_its_time_and_no_more
    start(ranks_command_seconds: "2.0") do |server, redis|
      assert_equal row(2, "ann", 3), get(server, "points/ann")
      redis.pause
      answers = Array.new(5) { Thread.new { server.get("/ranks/points/ann") } }.map { |asking| asking.value.then { |answer| [answer.status, answer.body] } }
      assert_equal [[504, "Elah::QueryTimeout: Redis at #{redis.address} gave no answer to EVALSHA within 2 s."]], answers.uniq
      redis.resume
      wait_until("it answers again") { get(server, "points/ann") == row(2, "ann", 3) }
    end
  end

  def test_a_connection_that_is_lost_among_answers_is_told
    start do |server, redis|
      assert_equal row(2, "ann", 3), get(server, "points/ann")
      redis.pause
      waiting = Thread.new { told(server) }
      redis.kill
      assert_equal [503, "Elah::Unavailable"], waiting.value
    end
  end

  # A request whose handler has ended, or never began, is no task that could be cancelled: it kept its place until Redis answered.
  def test_a_request_whose_client_has_gone_makes_room_for_the_next
    start({ fibers_max: 1, queue_seconds: 20 }) do |server, redis|
      assert_equal row(2, "ann", 3), get(server, "points/ann")
      redis.pause
      server.connect do |client|
        client.write("GET /ranks/points/ann HTTP/1.1\r\nHost: x\r\n\r\n")
        client.socket.setsockopt(Socket::Option.linger(true, 0))
      end
      assert_equal 200, server.get("/counts").status
      redis.resume
    end
  end

  def test_requests_that_nobody_waits_for_any_more
    start({ request_seconds: 2 }) do |server, redis|
      assert_equal row(2, "ann", 3), get(server, "points/ann")
      redis.pause
      server.connect { |client| client.write("GET /ranks/points/ann HTTP/1.1\r\nHost: x\r\n\r\n") }
      assert_equal [504, "deadline_exceeded"], server.get("/ranks/points/ann").then { |answer| [answer.status, answer.json["code"]] }
      redis.resume
      wait_until("it answers again") { get(server, "points/ann") == row(2, "ann", 3) }
      assert_equal({ "left alone" => 1 }, server.get("/counts").json, "no handler began for them")
      server.stop
    end
  end

  def test_a_responder_of_a_cluster_or_with_one_text_is_none
    script = Elah::Redis.new("redis://127.0.0.1:1").script("return 1")
    assert_raises(ArgumentError) { script.responder(headers: {}, texts: [""]) }
    assert_nil Elah::Redis.new("redis+cluster://127.0.0.1:1").script("return 1").responder(headers: {}, texts: ["", ""])
    responder = script.responder(headers: {}, texts: ["", ""])
    assert_raises(Elah::RankedSet::InvalidOrder) { responder.add("a", keys: [], order: :up) }
    assert_raises(TypeError) { responder.add("a", keys: [Object.new]) }
  end
end
