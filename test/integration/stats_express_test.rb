# frozen_string_literal: true

# The quickest way of a request into the journal beside the ordinary one: both record the same and refuse the same. A request goes the
# ordinary way when it says that its body is encoded as `identity`, which changes nothing.
require "test_helper"
require "support/patience"
require "support/stats_server"

class StatsExpressTest < Minitest::Test
  include Patience

  ORDINARY = { "Content-Encoding" => "identity" }.freeze
  QUERIES = ["", "a=1&b=2", "a", "a&b=", "=c&x=1", "a=1&a=2", "n[]=1&n[]=2", "a[b]=1", "a=%ff", "a=%", "a=1;b=2", "a+b=c%2Bd%20e", "path=/x", "path", "path[]=/x",
             "path=/x&path=/y", "&&a=1&", "a=x=y", "a=1& b=2", "a=%22%5C%0A%C3%A9", "[=1", "event=E&path=%2Fp", (1..40).map { |n| "n#{n}=#{n}" }.join("&")].freeze
  JSON_BODIES = ["", "{}", ' {"a" : [1, {"b":null}], "path":"/x"} ', '{"path":"/x","path":"/y"}', '{"path":7}', '{"a":"\ud800"}', '{"\ud800":1}', '{"a":1e400}',
                 '{"a":123456789012345678901234567890}', '{"a":-0.0,"b":1e2}', '{"path":"\u002fA\n"}', "[1]", "[]", '"x"', "null", "{", '{"a":1}x', "{\"a\":\"\xFF\"}", "\xEF\xBB\xBF{}",
                 "{\"a\":#{'[' * 90}#{']' * 90}}", "{\"a\":#{'[' * 100}#{']' * 100}}", "{\"a\":#{'{"x":' * 200}1#{'}' * 200}}", '{"a":tru}', '{"a":"tab	"}', '{"ü":"é"}'].freeze
  FORMS = ["a=1&b=2", "a=1;b=2", "a=1&a[b]=2", "a=%ff", "path=/f&event=E", "", "n[]=1"].freeze
  TEXTS = ['{"path":"/t"}', "plain words", "{", " {}", "caf\xE9"].freeze

  def self.server
    @server ||= StatsServer.new({}, {}).tap { |server| Minitest.after_run { server.remove } }
  end

  def server = self.class.server

  # @return [Array] status, code, and the parameters as they are stored, of each request
  def answers(requests, extra)
    requests.map.with_index do |(verb, target, type, body), index|
      agent = "Mozilla/5.0 #{name} #{index} #{extra.empty?}"
      headers = { "User-Agent" => agent, **extra }
      headers["Content-Type"] = type if type
      # The second time the sender is known.
      statuses = Array.new(2) { server.request(verb, target, headers: headers, **(body ? { body: body } : {})) }.map { |answer| [answer.status, answer.json["code"]] }
      [agent, *statuses]
    end
  end

  def stored(agent, count)
    visitor = server.get("/visitors/me", headers: { "User-Agent" => agent }).json["visitors"].last
    found = nil
    wait_until("#{count} events of #{agent} are stored") { (found = server.get("/visitors/#{visitor}").json["events"]).size >= count }
    found.map { |event| event.values_at("type", "path", "params", "bot", "ip") + [event["headers"].except("user-agent", "content-encoding")] }
  end

  def assert_alike(requests)
    quick = answers(requests, {})
    ordinary = answers(requests, ORDINARY)
    requests.each_with_index do |request, index|
      assert_equal ordinary[index].drop(1), quick[index].drop(1), request.inspect
      accepted = quick[index].drop(1).count { |status, _| status == 200 }
      assert_equal stored(ordinary[index].first, accepted), stored(quick[index].first, accepted), request.inspect
    end
  end

  def test_queries = assert_alike(QUERIES.map { |query| ["GET", "/stats?#{query}"] })

  def test_bodies_in_json = assert_alike(JSON_BODIES.map { |body| ["POST", "/stats", "application/json", body.b] })

  def test_forms_and_texts
    assert_alike(FORMS.map { |body| ["POST", "/stats", "application/x-www-form-urlencoded", body] } + TEXTS.map { |body| ["POST", "/stats", "text/plain;charset=UTF-8", body.b] })
  end

  def test_a_query_beside_a_body_and_types_of_all_kinds
    types = ["Application/JSON; charset=utf-8", "application/json,x", "image/png", nil, "application/x-ndjson"]
    assert_alike(types.map { |type| ["POST", "/stats", type, '{"a":1}'] } + [["POST", "/stats?q=1&a=2", "application/json", '{"a":1}'], ["POST", "/stats?q=1", nil, nil]])
  end

  def test_headers_that_come_twice_or_are_no_text
    rows = [ORDINARY, {}].map do |extra|
      agent = "Mozilla/5.0 #{name} #{extra.empty?}"
      server.process.connect do |client|
        lines = ["GET /stats HTTP/1.1", "Host: h", "User-Agent: #{agent}", "X-Odd: caf\xE9".b, "X-Two: 1", "Cookie: a", "X-Two: 2", "Cookie: b", *extra.map { |pair| pair.join(": ") }]
        2.times { client.write("#{lines.join("\r\n")}\r\n\r\n".b) && client.read_answer }
      end
      stored(agent, 2)
    end
    assert_equal(*rows)
    assert_equal({ "host" => "h", "x-odd" => "caf\uFFFD", "x-two" => "1, 2" }, rows.first.first.last)
  end

  def test_the_answer_to_a_preference
    agent = "Mozilla/5.0 #{name}"
    %w[memory disk].each do |durability|
      quick, ordinary = [{}, ORDINARY].map { |extra| server.get("/stats", headers: { "User-Agent" => agent, "Prefer" => "durability=#{durability}", **extra }) }
      assert_equal ordinary.headers.except("date", "content-length"), quick.headers.except("date", "content-length")
      assert_equal [200, durability, "durability=#{durability}"], [quick.status, quick.json["durability"], quick["preference-applied"]]
      assert_match Elah::Sink::Id::UUID, quick.json["id"]
      assert_equal ordinary.json.keys, quick.json.keys
    end
    stored(agent, 4)
  end
end
