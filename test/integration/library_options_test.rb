# frozen_string_literal: true

# Options that the library itself keeps: the bounds of the parsers, and the line per request.
require "test_helper"
require "support/elah_server"

class LibraryOptionsTest < Minitest::Test
  APP = <<~RUBY
    class Api < Elah::API
      format :json
      get("/query") { params }
      post("/body") { params }
      post("/parts") { params.size }
      get("/document") { declared(params) }
      params { requires :document, type: JSON do; optional :a; end }
      get("/nested") { { read: true } }
      get("/redirect", raw: true) { request.redirect(302, "/elsewhere", {}) }
      get("/raises") { raise "broken" }
      get("/stream") { stream { |out| out << "a" } }
    end
    class Problems < Elah::API
      format :json
      error_format :problem
      post("/object", late_body: true) { json_object }
    end
    Api.mount(Problems => "/problems")
    run Api
  RUBY

  def start(**options, &block) = ElahServer.start(APP, **options, &block)

  def json(text) = { headers: { "Content-Type" => "application/json" }, body: text }

  def test_json_is_bounded_in_depth
    start(json_depth_max: 3) do |server|
      assert_equal 201, server.request("POST", "/body", **json('{"a":[[1]]}')).status
      assert_equal 400, server.request("POST", "/body", **json('{"a":[[[1]]]}')).status
      assert_equal 200, server.get("/nested?document=%7B%22a%22%3A%5B%5B1%5D%5D%7D").status
      assert_equal 400, server.get("/nested?document=%7B%22a%22%3A%5B%5B%5B1%5D%5D%5D%7D").status
    end
  end

  def test_json_is_bounded_in_the_names_of_an_object
    start(json_names_max: 2) do |server|
      assert_equal 201, server.request("POST", "/body", **json('{"a":{"b":1,"c":2},"d":3}')).status
      refused = server.request("POST", "/body", **json('{"a":1,"b":2,"c":3}'))
      assert_equal 400, refused.status
      assert_equal 200, server.get("/nested?document=%7B%22a%22%3A1%2C%22b%22%3A2%7D").status
      assert_equal 400, server.get("/nested?document=%7B%22a%22%3A1%2C%22b%22%3A2%2C%22c%22%3A3%7D").status
      problem = server.request("POST", "/problems/object", **json('{"a":1,"b":2,"c":3}'))
      assert_equal [400, "invalid_body"], [problem.status, problem.json["code"]]
      assert_match "an object has more than 2 names", problem.json["detail"]
    end
  end

  def test_parameters_are_bounded_in_number_and_depth
    start(params_max: 3, param_depth_max: 2) do |server|
      assert_equal 200, server.get("/query?a=1&b=2&c=3").status
      assert_equal 400, server.get("/query?a=1&b=2&c=3&d=4").status
      assert_equal 200, server.get("/query?a[b]=1").status
      assert_equal 400, server.get("/query?a[b][c][d]=1").status
      form = { "Content-Type" => "application/x-www-form-urlencoded" }
      assert_equal 400, server.request("POST", "/body", headers: form, body: "a=1&b=2&c=3&d=4").status
    end
  end

  def test_parts_are_bounded
    start(parts_max: 2) { |server| assert_equal [201, 400], [2, 3].map { |count| send_parts(server, count) } }
  end

  # A form with an upload and 129 texts was refused, which Rack accepts.
  def test_files_are_bounded_apart_from_other_parts
    start(files_max: 2) do |server|
      assert_equal [201, 400], [2, 3].map { |count| send_parts(server, count, '; filename="a"') }
      assert_equal 201, send_parts(server, 150)
    end
  end

  def test_a_line_is_written_for_every_request_that_is_wanted
    start(log_requests: true) do |server|
      server.get("/query?secret=1")
      server.get("/raises")
      server.get("/stream")
      server.get("/redirect")
      server.wait_for(%r{INFO .*GET /query 200 in \d+\.\d ms, id \S+, from 127\.0\.0\.1$})
      server.wait_for(%r{GET /raises failed with RuntimeError in})
      server.wait_for(%r{GET /stream 200 in})
      server.wait_for(%r{GET /redirect 302 in})
      refute_includes server.log, "secret"
    end
    start { |server| server.get("/query") && refute_includes(server.log, "GET") }
  end

  # It ended with "from ": the client of a Unix socket has no address.
  def test_the_line_of_a_request_on_a_unix_socket_names_no_address
    Dir.mktmpdir do |folder|
      start(log_requests: true, bind: "unix://#{folder}/s") do |server|
        server.get("/query")
        server.wait_for(%r{INFO .*GET /query 200 in \d+\.\d ms, id \S+$})
      end
    end
  end

  private

  # @return [Integer] the status
  def send_parts(server, count, filename = "")
    parts = Array.new(count) { |n| "--x\r\nContent-Disposition: form-data; name=\"f#{n}\"#{filename}\r\n\r\nv\r\n" }
    headers = { "Content-Type" => "multipart/form-data; boundary=x" }
    server.request("POST", "/parts", headers: headers, body: "#{parts.join}--x--\r\n").status
  end
end
