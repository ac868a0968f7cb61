# frozen_string_literal: true

require "open3"
require "shellwords"
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
      [2, 0, -1].each { |id| assert_equal "no_such_todo", server.get("/todos/#{id}").json["code"] }
      assert_equal "empty", server.request("POST", "/todos", headers: form, body: "title=").json["errors"][0]["code"]
    end
  end

  # Its curl line sent JSON as a form, and got a 400.
  def test_sink
    serve("sink") do |server|
      command = File.read(File.join(EXAMPLES, "sink.rb"))[/^#   (curl -.*)/, 1].sub(%r{http://[^/]+}, server.http_url)
      answer, = Open3.capture2(*Shellwords.split(command), "--silent", "--include")
      assert_match(/\AHTTP\/1.1 202 .*^preference-applied: durability=disk\r$/mi, answer)
    end
  end

  def test_events
    serve("events_api") do |server|
      assert_equal 3, server.get("/ticks?seconds=0").body.scan("event: tick\n").size
      assert_equal "1000,1000000", server.get("/squares").body.lines.last.chomp
    end
  end

  def test_seats
    serve("seats") do |server|
      ann = hold(server, "visitor=ann&seat=14")
      assert_equal "14-1", ann.json["hold"]
      assert_equal "14-1", hold(server, "visitor=ann").json["hold"]
      assert_equal "taken", hold(server, "visitor=bob&seat=14").json["code"]
      assert_equal 400, hold(server, "visitor=bob&seat=999").status
      assert_equal "1-2", hold(server, "visitor=bob").json["hold"]
      assert_equal 198, server.get("/shows/hamlet").json["free"]
      assert_equal "14-1", server.request("DELETE", "/shows/hamlet/seats/14-1").json["given_back"]
      assert_equal 404, server.request("DELETE", "/shows/hamlet/seats/14-1").status
      assert_equal 422, hold(server, "visitor=").status
    end
  end

  private

  def hold(server, form)
    server.request("POST", "/shows/hamlet/seats", headers: { "Content-Type" => "application/x-www-form-urlencoded" },
                                                  body: form)
  end

  def serve(name, &block) = ElahServer.start(File.join(EXAMPLES, "#{name}.rb"), &block)
end
