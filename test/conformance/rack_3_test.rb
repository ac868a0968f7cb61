# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# The specification of Rack 3, from both sides: the app checks its environment, this test what the client gets. Rack 2
# has Rack::Lint, which is around the apps of the other tests.
class Rack3Test < Minitest::Test
  APP = File.expand_path("../support/apps/rack_3.ru", __dir__)

  @server = ElahServer.start(APP, body_memory_bytes: 1024)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  %w[GET POST PUT PATCH DELETE OPTIONS PROPFIND].each do |verb|
    define_method("test_#{verb}") { assert_equal "#{verb} /a%20b", answer(verb, "/a%20b?x=%FF").body }
  end

  def test_options_of_the_server
    assert_equal "OPTIONS *", answer("OPTIONS", "*").body
  end

  def test_http_1_0
    server.connect do |client|
      assert_equal "GET /", client.write("GET / HTTP/1.0\r\n\r\n").read_answer.body
      assert_predicate client, :closed_by_server?
    end
  end

  def test_binary_headers
    assert_equal 200, answer("GET", "/", headers: { "X-Name" => "caf\xE9".b }).status
  end

  def test_bodies_come_back
    ["", "a", "b" * 1024, "c" * 200_000].each do |body|
      assert answer("POST", "/echo", body: body).body == body, "#{body.bytesize} bytes"
    end
  end

  def test_each_status
    [200, 201, 202, 204, 205, 301, 302, 304, 307, 400, 404, 418, 422, 429, 500, 503, 599].each do |status|
      assert_equal [status, ""], answer("GET", "/status?#{status}").then { |got| [got.status, got.body] }
    end
  end

  def test_each_cookie_has_a_line_of_its_own
    assert_equal ["a=1; path=/", "b=2"],
                 answer("GET", "/cookies").header_lines.filter_map { |name, value| value if name == "set-cookie" }
  end

  def test_streams
    %w[/stream /enumerator].each { |path| assert_equal "hello", answer("GET", path).body }
    assert_equal "hello", answer("GET", "/hijack").body
  end

  private

  def server = self.class.server

  def answer(verb, target, **options)
    server.request(verb, target, **options).tap do |answer|
      refute_equal 500, answer.status, server.log unless target.end_with?("500")
    end
  end
end
