# frozen_string_literal: true

require "test_helper"
require "support/elah_server"

# The examples of the framework, served as their first lines say.
class APIExamplesTest < Minitest::Test
  EXAMPLES = File.expand_path("../../examples", __dir__)

  def test_hello
    serve("hello_api") do |server|
      assert_equal({ "message" => "hello world" }, server.get("/hello").json)
      assert_equal({ "message" => "hello Ada, hello Ada" }, server.get("/hello/Ada?times=2").json)
      assert_equal({ "error" => "times does not have a valid value" }, server.get("/hello/Ada?times=9").json)
    end
  end

  def test_todo
    serve("todo_api") do |server|
      form = { "Content-Type" => "application/x-www-form-urlencoded" }
      answer = server.request("POST", "/todos", headers: form, body: "title=Read&tags[]=books")
      assert_equal [201, { "id" => 1 }, "1"], [answer.status, answer.json, answer["x-count"]]
      assert_equal({ "title" => "Read", "tags" => ["books"] }, server.get("/todos/1").json)
      assert_equal "no_such_todo", server.get("/todos/2").json["code"]
      assert_equal "empty", server.request("POST", "/todos", headers: form, body: "title=").json["errors"][0]["code"]
    end
  end

  def test_events
    serve("events_api") do |server|
      assert_equal 3, server.get("/ticks?seconds=0").body.scan("event: tick\n").size
      assert_equal "1000,1000000", server.get("/squares").body.lines.last.chomp
    end
  end

  private

  def serve(name, &block) = ElahServer.start(File.join(EXAMPLES, "#{name}.rb"), &block)
end
