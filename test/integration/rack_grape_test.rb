# frozen_string_literal: true

require_relative "../test_helper"
require "support/gems"
return unless Gems.present?("grape")

require_relative "../support/elah_server"

# A Grape API, over HTTP.
class RackGrapeTest < Minitest::Test
  APP = File.expand_path("../support/apps/grape.ru", __dir__)

  @server = ElahServer.start(APP, body_memory_bytes: 4096)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  def test_collections_and_parameters
    assert_equal [{ "id" => 1 }, { "id" => 2 }], get("things").json
    assert_equal({ "id" => 21, "double" => 42 }, get("things/21").json)
    assert_equal [400, { "error" => "id is invalid" }], get("things/x").then { |answer| [answer.status, answer.json] }
  end

  def test_bodies
    answer = post("things", '{"name":"chair","tags":["a","b"],"other":1}', "application/json")
    assert_equal [201, { "created" => { "name" => "chair", "tags" => %w[a b] } }], [answer.status, answer.json]
    assert_equal({ "created" => { "name" => "table", "tags" => ["c"] } },
                 post("things", "name=table&tags[]=c", "application/x-www-form-urlencoded").json)
    assert_equal 400, post("things", '{"name":', "application/json").status
    assert_equal 415, post("things", "x", "application/unknown").status
    assert_equal [400, "name is invalid"],
                 post("things", '{"name":"A1"}', "application/json").then { |bad| [bad.status, bad.json["error"]] }
  end

  def test_a_chunked_body
    server.connect do |client|
      client.write("POST /api/v1/things HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" \
                   "Transfer-Encoding: chunked\r\n\r\n")
      assert_equal 201, client.write("e\r\n{\"name\":\"bed\"}\r\n0\r\n\r\n").read_answer.status
    end
  end

  def test_uploads
    [10, 100_000].each do |bytes|
      parts = "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n" \
              "#{'y' * bytes}\r\n--B--\r\n"
      assert_equal({ "name" => "a.bin", "bytes" => bytes },
                   post("things/upload", parts, "multipart/form-data; boundary=B").json)
    end
  end

  def test_errors_headers_redirects
    assert_equal [422, { "error" => "wrong" }], get("raise_argument").then { |answer| [answer.status, answer.json] }
    assert_equal [202, "1", "a=b"],
                 get("header").then { |answer| [answer.status, answer["x-thing"], answer["set-cookie"]] }
    assert_equal [302, "/elsewhere"], get("redirect").then { |answer| [answer.status, answer["location"]] }
    assert_equal 404, get("missing").status
    assert_equal [405, "OPTIONS, GET, POST, HEAD"],
                 server.request("PUT", "/api/v1/things").then { |answer| [answer.status, answer["allow"]] }
    assert_equal [204, ""], get("no_content").then { |answer| [answer.status, answer.body] }
  end

  def test_streams
    answer = get("stream")
    assert_equal ["0;1;2;", "chunked"], [answer.body, answer["transfer-encoding"]]
  end

  private

  def server = self.class.server

  def get(path) = server.get("/api/v1/#{path}")

  def post(path, body, type)
    server.request("POST", "/api/v1/#{path}", headers: { "Content-Type" => type }, body: body)
  end
end
