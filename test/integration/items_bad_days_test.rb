# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/servers"
require "json"
require "tmpdir"

# The random-item API when its store is full or away, and when it is killed.
class ItemsBadDaysTest < Minitest::Test
  APP = File.expand_path("../../apps/items/app.rb", __dir__)
  JSON_TYPE = { "Content-Type" => "application/json" }.freeze

  def test_a_full_store_refuses_new_items_and_goes_on_drawing
    ElahServer.start(APP, store_bytes_max: "1M") do |server|
      statuses = []
      statuses << create(server, "x" * 9000).status until statuses.last == 507 || statuses.size == 500
      assert_equal [201, 507], statuses.uniq
      answer = Array.new(20) { create(server, "x" * 9000) }.find { |candidate| candidate.status == 507 }
      assert_equal ["store_full", "application/problem+json"], [answer.json["code"], answer["content-type"]]
      assert_equal 200, server.get("/items/random").status
      assert_equal [503, 200], [server.get("/readyz").status, server.get("/livez").status]
    end
  end

  # Two workers on MongoDB's protocol undid each other's changes.
  def test_several_workers_on_mongodb_do_not_start
    error = assert_raises(ElahServer::Failure) do
      ElahServer.start(APP, store: "mongodb://127.0.0.1:1/items", workers: 2).kill
    end
    assert_match(/A mongodb:\/\/ store needs --workers 1, not 2/, error.message)
  end

  def test_what_was_answered_outlives_a_kill
    Dir.mktmpdir do |folder|
      server = ElahServer.start(APP, data: folder)
      uuids = Array.new(20) { create(server, "").json["uuid"] }
      gone = uuids.shift(7)
      gone.each { |uuid| assert_equal 204, server.request("DELETE", "/items/#{uuid}").status }
      server.signal(:KILL)
      server.wait_until_ended
      ElahServer.start(APP, data: folder) do |restarted|
        assert_equal uuids, restarted.get("/items").json["items"].map { |item| item["uuid"] }
        assert_equal uuids.sort, restarted.get("/items/random?n=1000").json["items"].map { |item| item["uuid"] }.sort
      end
    ensure
      server&.kill
    end
  end

  def test_a_store_that_does_not_exist_is_told_with_those_that_do
    error = assert_raises(ElahServer::Failure) { ElahServer.start(APP, store: "oracle://db") }
    assert_match(/store must be embedded.*not oracle/, error.message)
  end

  { "PostgreSQL" => Servers::PostgreSQL, "MariaDB" => Servers::MariaDB }.each do |name, database|
    define_method("test_while_#{name}_is_away_everything_is_unavailable_and_then_goes_on") do
      database.start(durable: true) do |store|
        store.stop
        ElahServer.start(APP, store: store.url) do |server|
          assert_unavailable(server)
          store.start
          await_answer(server)
          assert_equal 201, create(server, "").status
          store.kill
          assert_unavailable(server)
          store.start
          await_answer(server)
        end
      end
    end
  end

  def test_while_mongo_java_server_is_silent_or_away_everything_is_unavailable_and_then_goes_on
    Servers::MongoJavaServer.start(durable: true) do |store|
      ElahServer.start(APP, store: "#{store.url}?socketTimeoutMS=3000&serverSelectionTimeoutMS=3000") do |server|
        await_answer(server)
        assert_equal 201, create(server, "").status
        store.pause
        answer = server.get("/items/random")
        assert_equal [504, "query_timeout"], [answer.status, answer.json["code"]]
        store.resume
        store.stop
        assert_unavailable(server)
        store.start
        await_answer(server)
        assert_equal [200, 201], [server.get("/items/random").status, create(server, "").status]
        assert_equal 2, server.get("/items").json["items"].size
      end
    end
  end

  private

  def assert_unavailable(server)
    answers = %w[/items/random /items/random?n=3 /items /readyz].map { |path| server.get(path) } << create(server, "")
    assert_equal [[503, "application/problem+json", "store_unavailable"]],
                 answers.map { |answer| [answer.status, answer["content-type"], answer.json["code"]] }.uniq
    refute_match(/secret/, answers.map(&:body).join)
    assert_equal 200, server.get("/livez").status
  end

  # The client tries a server that was away again at intervals.
  def await_answer(server)
    give_up_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
    until (answer = server.get("/readyz")).status == 200
      flunk answer.body if Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up_at
    end
  end

  def create(server, description)
    server.request("POST", "/items", body: JSON.generate({ name: "A", description: description, tags: ["a"] }),
                                     headers: JSON_TYPE)
  end
end
