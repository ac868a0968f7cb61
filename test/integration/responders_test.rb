# frozen_string_literal: true

require "test_helper"
require "support/elah_server"

# Requests that the responder of a sink answers before the handler begins, those that it leaves alone, and what is wrong about a responder.
class RespondersTest < Minitest::Test
  APP = File.expand_path("../support/apps/recorders.rb", __dir__)
  NEVER_MS = 9_999_999_999_999

  def start(app = APP, **options)
    ElahServer.start(app, **options) do |server|
      server.connect do |client|
        assert_equal [202, "left alone"], get(client), "nothing is known of the sender"
        assert_equal 200, client.request("POST", "/known").status
        yield client, server
      end
    end
  end

  def get(client, target = "/seen", **headers)
    answer = client.request("GET", target, headers: headers.transform_keys(&:to_s))
    [answer.status, answer.body]
  end

  def post(client, body, target = "/seen", **headers)
    answer = client.request("POST", target, body: body, headers: { "Content-Type" => "application/json", **headers.transform_keys(&:to_s) })
    [answer.status, answer.body]
  end

  def test_plain_requests_are_recorded_and_answered
    start do |client|
      assert_equal [[200, "{}"], [200, "{}"]], [get(client, "/seen?a=1"), post(client, '{"b":2}')]
      assert_match(/\A\{"id":"\h{8}-/, get(client, Prefer: "durability=disk").last)
      assert_equal [200, ""], client.request("HEAD", "/seen?a=3").then { |answer| [answer.status, answer.body] }
      assert_equal [202] * 4, [get(client, DNT: "1"), get(client, Prefer: "durability=delivered"), post(client, "[1]"), post(client, "{}", DNT: "1")].map(&:first)
      assert_equal [{ "a" => "1" }, { "b" => 2 }, {}, { "a" => "3" }], client.request("GET", "/events").json
      assert_equal [{ "taken" => 4 }, { "taken" => 0 }], Array.new(2) { client.request("GET", "/taken").json }
    end
  end

  def test_the_handler_is_asked_when_what_was_allowed_is_used_up_or_too_late
    start do |client|
      client.request("POST", "/allowance/2?until_ms=#{NEVER_MS}")
      assert_equal [200, 200, 202, 202], [get(client), post(client, "{}"), get(client), post(client, "{}")].map(&:first)
      client.request("POST", "/allowance/5?until_ms=1")
      assert_equal 202, get(client).first
      client.request("POST", "/allowance/5?until_ms=#{NEVER_MS}")
      assert_equal 200, get(client).first
      assert_equal 3, client.request("GET", "/events").json.size
    end
  end

  # The next event opens it again.
  def test_a_sink_that_was_closed_takes_nothing
    start do |client|
      assert_equal 200, get(client).first
      client.request("POST", "/close")
      assert_equal 202, get(client).first
      client.request("GET", "/events")
      assert_equal [200, 1], [get(client).first, client.request("GET", "/events").json.size - 1]
    end
  end

  # The handler's own event meets the full journal, and can say so.
  def test_what_the_journal_does_not_take_is_for_the_handler
    start(sink_journal_bytes_max: 1024 * 1024, sink_event_bytes_max: 65_536, arguments: ["--set", "recorders_away=true"]) do |client|
      body = %({"text":"#{'x' * 60_000}"})
      answers = Array.new(20) { post(client, body, "/failing") }
      assert_equal [200, 503], [answers.first, answers.last].map(&:first)
      assert_match(/full/, answers.last.last)
      assert_equal 200, get(client, "/taken").first
    end
  end

  def test_workers_have_responders_of_their_own
    ElahServer.start(APP, workers: 2) do |server|
      seen = {}
      until seen.size == 2
        server.connect do |client|
          pid = client.request("POST", "/known").body
          seen[pid] = get(client)
        end
      end
      assert_equal [[200, "{}"]], seen.values.uniq
    end
  end

  # Each request is to have a line.
  def test_the_log_of_requests_has_what_a_responder_would_have_answered
    start(log_requests: true) do |client, server|
      assert_equal 202, get(client, "/seen?a=1").first
      server.wait_for(%r{GET /seen 202 in .*\n.*POST /known 200 in .*\n.*GET /seen 202 in })
    end
  end

  # Its handlers answer, and tell what they cannot do there.
  def test_the_rack_entry_of_a_class_has_none
    ElahServer.start(File.read(APP).sub("run Recorders", "run ->(env) { Recorders.call(env) }")) do |server|
      assert_equal [202, "left alone"], server.get("/seen").then { |answer| [answer.status, answer.body] }
      assert_equal({ "taken" => 0 }, server.get("/taken").json)
    end
  end

  # A sync that fails has the request begin anew: what it is told then is the handler's.
  def test_an_answer_that_waits_for_the_disk_is_given_once
    start do |client|
      answers = Array.new(50) { |n| post(client, %({"n":#{n}})) }
      assert_equal [[200, "{}"]], answers.uniq
      assert_equal (0...50).to_a, client.request("GET", "/events").json.map { |event| event["n"] }
    end
  end

  def test_something_else_is_no_responder
    error = assert_raises(ElahServer::Failure) { ElahServer.start('require "elah/api"; run Class.new(Elah::API) { get(:a, raw: true, responder: 7) { 1 } }') }
    assert_match(/The responder of a route comes from a sink, a ranked set or a Redis; Integer is none/, error.message)
  end
end
