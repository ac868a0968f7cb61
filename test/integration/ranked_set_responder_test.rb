# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# Requests that a ranked set answers by itself, and those that it leaves alone.
class RankedSetResponderTest < Minitest::Test
  APP = File.expand_path("../support/apps/ladders.rb", __dir__)
  JSON_TYPE = { "Content-Type" => "application/json" }.freeze

  def start(durability = "disk", **options)
    server = ElahServer.start(APP, arguments: ["--set", "ladders_durability=#{durability}"], **options)
    server.request("POST", "/ladders/a") # now it is in memory
    return server unless block_given?

    begin
      yield server
      server.stop
    ensure
      server.kill
    end
  end

  def submit(server, member, body, headers: JSON_TYPE, query: "")
    answer = server.request("PUT", "/ladders/a/#{member}#{query}", body: body, headers: headers)
    answer.status == 202 ? :left_alone : [answer.status, answer.json]
  end

  def get(server, path)
    answer = server.get("/ladders/a/#{path}")
    answer.status == 202 ? :left_alone : answer.json
  end

  %w[disk memory].each do |durability|
    define_method("test_plain_submissions_are_done_and_answered_#{durability}") do
      start(durability) do |server|
        assert_equal [200, { "rank" => 1, "member" => "ann", "score" => 3, "previous_rank" => nil, "previous_score" => nil, "changed" => true }],
                     submit(server, "ann", '{"score":3}')
        assert_equal [1, true], submit(server, "bob", '{ "operator" : "set", "score" : "5" }').last.values_at("rank", "changed")
        assert_equal [2, false], submit(server, "ann", '{"score":2}').last.values_at("rank", "changed"), "the best stays"
        assert_equal [2, 2, true], submit(server, "ann", '{"score":2,"operator":"last"}').last.values_at("rank", "score", "changed")
        assert_equal({ "rank" => 2, "member" => "ann", "score" => 2 }, get(server, "ann"))
        assert_equal [["ann", 3], ["bob", 5], ["ann", 2]], server.get("/changes").json.map { |text| JSON.parse(text).values_at("member", "score") }
      end
    end
  end

  def test_reads_are_answered_while_the_ladder_rests
    start do |server|
      { "ann" => 3, "bob" => 5, "cid" => 1, "d%C3%A4n" => 4 }.each { |name, score| submit(server, name, %({"score":#{score}})) }
      rows = [["bob", 5], ["d\u00e4n", 4], ["ann", 3], ["cid", 1]].each.with_index(1).map { |(name, score), rank| { "rank" => rank, "member" => name, "score" => score } }
      assert_equal({ "size" => 4, "rows" => rows.first(2) }, get(server, "top"))
      assert_equal [rows[1], rows[2]], [get(server, "d%c3%a4n"), get(server, "ann")]
      assert_equal({ "size" => 4, "rows" => rows[1..] }, get(server, "ann/around"))
      submit(server, "cid", '{"score":9}')
      assert_equal %w[cid bob], get(server, "top")["rows"].map { |row| row["member"] }, "what is kept of the first is forgotten when one changes"
      assert_equal [:left_alone] * 5, ["eve", "eve/around", "ann?x=1", "top?x=1", "x" * 11].map { |path| get(server, path) }
      assert_equal [200, ""], server.request("HEAD", "/ladders/a/top").then { |answer| [answer.status, answer.body] }
    end
  end

  # What has to be explained or needs more than a number is for the handler, and nothing has happened then.
  def test_what_is_not_plain_is_left_alone
    start do |server|
      bodies = ["", "{", "[]", "{}", '{"score":null}', '{"score":1.5}', '{"score":1e3}', '{"score":9223372036854775808}', '{"score":"many"}', '{"score":[[1]]}',
                '{"score":[1,2]}', '{"score":1,"score":2}', '{"score":1,"more":2}', '{"score":1,"operator":"increment"}', '{"score":1,"operator":7}', '{"score":1} x', "\xff"]
      assert_equal [:left_alone], bodies.map { |body| submit(server, "ann", body) }.uniq
      assert_equal [:left_alone] * 4, [submit(server, "ann", '{"score":1}', query: "?x=1"), submit(server, "x" * 11, '{"score":1}'),
                                       submit(server, "ann", '{"score":1}', headers: { "Content-Type" => "text/plain" }), submit(server, "ann", '{"score":1}', headers: {})]
      assert_equal({ "size" => 0, "rows" => [] }, get(server, "top"))
      4.times { |n| assert_equal 200, submit(server, "m#{n}", %({"score":[#{n}]})).first }
      assert_equal [:left_alone, 200], [submit(server, "m4", '{"score":1}'), submit(server, "m0", '{"score":7}').first], "the ladder is full"
    end
  end

  # The log has the reason, and the client the handler's answer; the loop goes on.
  def test_an_entity_that_fails_to_give_one_leaves_requests_to_the_handler
    start do |server|
      { "failing" => /no responder today/, "unwritten" => /nobody has written it/ }.each do |key, reason|
        server.request("POST", "/ladders/#{key}")
        answers = [["GET", "top"], ["PUT", "ann"]].map { |verb, path| server.request(verb, "/ladders/#{key}/#{path}", body: '{"score":1}', headers: JSON_TYPE).status }
        assert_equal [202, 202], answers
        server.wait_for(reason)
      end
      assert_equal 200, submit(server, "ann", '{"score":1}').first
    end
  end

  # What it did is done and answered all the same.
  def test_whoever_is_told_of_changes_may_fail
    start do |server|
      assert_equal [200, 200], [submit(server, "odd", '{"score":1}').first, submit(server, "odd", '{"score":2}').first]
      server.wait_for(/an odd change/)
      assert_equal 2, get(server, "odd")["score"]
    end
  end

  def test_submissions_with_a_key_are_left_alone_without_it
    start(env: { "LADDERS_KEY" => "s3cret" }) do |server|
      right = [{ "X-Api-Key" => "s3cret" }, { "Authorization" => "Bearer s3cret" }, { "Authorization" => "bearer  s3cret" }]
      wrong = [{}, { "X-Api-Key" => "S3cret" }, { "Authorization" => "Basic s3cret" }, { "X-Api-Key" => "", "Authorization" => "Bearer s3cret" }]
      answered = (right + wrong).map { |key| submit(server, "ann", '{"score":1}', headers: JSON_TYPE.merge(key)) == :left_alone }
      assert_equal [false] * right.size + [true] * wrong.size, answered
      assert_equal 1, get(server, "ann")["score"], "reads need none"
    end
  end

  def test_only_regions_have_entities_to_find
    error = assert_raises(TypeError) { Elah::RankedSet::EntityResponder.row(Class.new) }
    assert_equal "Entities are found by an Elah::Entity::Region, not by Class.", error.message
  end

  def test_an_answer_from_the_disk_outlives_a_kill_and_one_from_memory_an_end
    { "disk" => :KILL, "memory" => :TERM }.each do |durability, signal|
      server = start(durability)
      assert_equal 200, submit(server, "ann", '{"score":3}').first
      server.signal(signal)
      server.wait_until_ended
      start(durability, data: File.join(server.folder, "data")) { |again| assert_equal({ "rank" => 1, "member" => "ann", "score" => 3 }, get(again, "ann")) }
    ensure
      server&.kill
    end
  end
end
