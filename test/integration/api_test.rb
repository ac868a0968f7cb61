# frozen_string_literal: true

require "test_helper"
require "support/elah_server"
require "support/patience"

# Elah::API over real sockets: what the Rack entry cannot show.
class APIIntegrationTest < Minitest::Test
  include Patience

  APP = <<~'RUBY'
    class Served < Elah::API
      format :json
      error_format :problem

      get(:hello) { { message: "hello" } }
      get("links/:code") { redirect "/elsewhere/#{params[:code]}" }
      post(:links) { redirect "/links/1" }
      get(:raise) { raise "the secret" }
      get(:halted) { error! "Gone for good.", 410, { "X-Why" => "old" }, code: :expired }
      get(:cookies) { cookies[:a] = 1; cookies[:b] = 2; {} }
      get(:smuggle) { header "X-Name", "a\r\nX-Evil: 1"; {} }
      get(:slow) { sleep 0.05; { slept: true } }

      get(:reset) { status 205; "never" }

      get(:rows) do
        content_type "text/csv"
        stream { |out| 3.times { |n| out << "#{n},#{n * n}\n" } }
      end
      get(:broken_stream) { stream { |out| out << "first"; raise "the rest is missing" } }
      get(:large) { stream { |out| 640.times { out << ("x" * 16_384) } } }

      get(:events) do
        sse(keepalive_seconds: 0.02) do |events|
          events.push({ n: 1 }, id: 1, event: "tick")
          sleep 0.2
          events.push("last")
        end
      end
      get(:endless) do
        sse do |events|
          loop { events.push("again"); sleep 0.005 }
        ensure
          warn "the endless stream ended"
        end
      end

      post(:asked) do
        %i[request_method path query_string protocol host scheme content_type content_length remote_ip]
          .to_h { |name| [name, request.public_send(name)] }
      end

      get(:env) { [env["REQUEST_METHOD"], env["PATH_INFO"], env["HTTP_X_KEY"], env["api.format"]] }
      rack = ->(env) { [203, { "Content-Type" => "text/x-rack", "X-Two" => "a" }, ["rack ", env["PATH_INFO"]]] }
      mount rack => "/rack"

      params { requires :name, type: String }
      post(:names) { { name: params[:name] } }

      params { optional :name, type: String, default: "nobody" }
      post(:import, stream_body: true) do
        name = params[:name]
        bytes = 0
        request.each_body_chunk { |piece| bytes += piece.bytesize }
        { bytes: bytes, name: name }
      end

      post(:patient, stream_body: true) do
        begin
          Elah.timeout(0.2) { request.body }
        rescue Elah::DeadlineExceeded
          GIVEN_UP << true
        end
        5.times do
          Elah.timeout(0.000001) { request.body }
        rescue Elah::DeadlineExceeded
          GIVEN_UP << true
        end
        { body: request.body }
      end
      get(:given_up) { GIVEN_UP.size }
      GIVEN_UP = []
    end

    run Served
  RUBY

  def self.server = @server ||= ElahServer.start(APP).tap { |server| Minitest.after_run { server.stop } }
  def server = self.class.server

  NEGOTIATING = <<~'RUBY'
    class Negotiating < Elah::API
      content_type :json, "application/json"
      content_type :txt, "text/plain"
      default_format :json
      get(:negotiated) { { "a" => 1 } }
    end
    run Negotiating
  RUBY

  MOUNTED = <<~'RUBY'
    RAISING = lambda do |env|
      env["rack.response_finished"] << lambda do |_env, status, _headers, error|
        warn "finished #{status || 'without a status'}: #{error.class}, #{error.message}"
      end
      env["rack.hijack"].call if env["PATH_INFO"] == "/takes_over"
      raise "in the app"
    end
  RUBY
  MOUNTING = "#{MOUNTED}\nclass Mounting < Elah::API\n  mount RAISING => '/'\nend\nrun Mounting\n"
  MOUNTED_ALONE = "#{MOUNTED}\nrun RAISING\n"

  def test_a_route_without_a_format_negotiates
    json = ["application/json", '{"a":1}']
    text = ["text/plain", { "a" => 1 }.to_s]
    ElahServer.start(NEGOTIATING) do |server|
      { nil => json, "*/*" => json, "text/plain" => text, "image/png, application/json;q=0.3, text/plain;q=0.4" => text,
        "application/vnd.acme-v1+json" => json }.each do |accept, expected|
        response = server.get("/negotiated", headers: accept ? { "Accept" => accept } : {})
        assert_equal expected, [response["content-type"], response.body], accept
      end
      ["/negotiated.txt", "/negotiated?format=txt"].each do |target|
        assert_equal "text/plain", server.get(target, headers: { "Accept" => "application/json" })["content-type"],
                     target
      end
      assert_equal 406, server.get("/negotiated?format=yaml").status
    end
  end

  def test_answers
    answer = server.get("/hello")
    assert_equal [200, "application/json", { "message" => "hello" }],
                 [answer.status, answer["content-type"], answer.json]
    assert_equal "", server.request("HEAD", "/hello").body
  end

  def test_a_handler_knows_what_was_asked
    answer = server.request("POST", "/asked?a=b",
                            headers: { "Content-Type" => "application/json", "Host" => "asked.example:80" }, body: "{}")
    assert_equal({ "request_method" => "POST", "path" => "/asked", "query_string" => "a=b", "protocol" => "HTTP/1.1",
                   "host" => "asked.example:80", "scheme" => "http", "content_type" => "application/json",
                   "content_length" => 2, "remote_ip" => "127.0.0.1" }, answer.json)
  end

  def test_the_rack_environment_is_at_hand
    assert_equal ["GET", "/env", "k", "json"], server.get("/env", headers: { "X-Key" => "k" }).json
  end

  def test_mounted_rack_apps_answer_below_their_path
    answer = server.request("PATCH", "/rack/deep?a=b", body: "x")
    assert_equal [203, "text/x-rack", "a", "rack /rack/deep"],
                 [answer.status, answer["content-type"], answer["x-two"], answer.body]
    assert_equal "rack /rack", server.get("/rack").body
    assert_equal 404, server.get("/racket").status
  end

  # The callables did not run, and the client of a connection that the app had taken over waited for ever.
  def test_a_mounted_rack_app_that_raises_leaves_nothing_open
    finished = lambda do |server|
      server.get("/raises")
      server.wait_for(/finished without a status: RuntimeError, in the app/)
    end
    taken_over = lambda do |server|
      server.connect { |client| assert_empty client.write("GET /takes_over HTTP/1.1\r\nHost: a\r\n\r\n").read_to_end }
    end
    { MOUNTING => ".rb", MOUNTED_ALONE => ".ru" }.each do |app, extension|
      ElahServer.start(app, extension: extension) do |server|
        finished.call(server)
        taken_over.call(server)
      end
    end
  end

  def test_redirects
    answer = server.get("/links/a%20b")
    assert_equal [302, "/elsewhere/a b"], [answer.status, answer["location"]]
    assert_equal 302, server.request("HEAD", "/links/1").status
    assert_equal 303, server.request("POST", "/links").status
  end

  def test_many_requests_on_one_connection
    server.connect do |client|
      client.write((["GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"] * 5).join)
      5.times { assert_equal 200, client.read_answer.status }
      assert_equal 404, client.get("/nowhere").status
      assert_equal 200, client.get("/slow").status
    end
  end

  def test_errors_are_problems
    answer = server.get("/halted")
    assert_equal [410, "expired", "old"], [answer.status, answer.json["code"], answer["x-why"]]
    answer = server.get("/nowhere")
    assert_equal [404, "not_found", "application/problem+json"],
                 [answer.status, answer.json["code"], answer["content-type"]]
    assert_nil answer["x-cascade"]
    answer = server.request("PUT", "/hello")
    assert_equal [405, "method_not_allowed", "OPTIONS, GET, HEAD"],
                 [answer.status, answer.json["code"], answer["allow"]]
    assert_equal 204, server.request("OPTIONS", "/hello").status
    answer = server.request("POST", "/names", headers: { "Content-Type" => "application/json" }, body: "{}")
    assert_equal [400, "missing"], [answer.status, answer.json["errors"][0]["code"]]
    answer = server.request("POST", "/names", headers: { "Content-Type" => "application/json" }, body: "{")
    assert_equal [400, "invalid_body"], [answer.status, answer.json["code"]]
  end

  def test_an_exception_is_a_500_with_an_id_and_the_connection_goes_on
    server.connect do |client|
      answer = client.get("/raise")
      assert_equal [500, "internal_error"], [answer.status, answer.json["code"]]
      refute_includes answer.body, "secret"
      server.wait_for(/#{Regexp.escape(answer.json['request_id'])}.*failed: RuntimeError: the secret/)
      assert_equal 200, client.get("/hello").status
    end
  end

  def test_headers
    assert_equal %w[a=1 b=2],
                 server.get("/cookies").header_lines.filter_map { |name, value| value if name.casecmp?("set-cookie") }
    answer = server.get("/smuggle")
    assert_equal 500, answer.status
    assert_nil answer["x-evil"]
  end

  def test_streams
    answer = server.get("/rows")
    assert_equal ["text/csv", "chunked", "0,0\n1,1\n2,4\n"],
                 [answer["content-type"], answer["transfer-encoding"], answer.body]
    assert_equal 640 * 16_384, server.get("/large").body.bytesize
    server.connect do |client|
      assert_equal "", client.request("HEAD", "/rows").body
      assert_equal 200, client.get("/hello").status
    end
  end

  # RFC 9110 15.3.6
  def test_reset_content_has_no_content
    answer = server.get("/reset")
    assert_equal [205, "0", "", nil], [answer.status, answer["content-length"], answer.body, answer["content-type"]]
  end

  def test_a_stream_that_fails_is_cut
    server.connect do |client|
      client.write("GET /broken_stream HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_raises(HttpClient::Closed) do
        client.read_head
        nil until client.read_chunk.empty?
      end
    end
  end

  def test_events_and_the_comments_that_keep_them_open
    body = server.get("/events").body
    assert body.start_with?("id: 1\nevent: tick\ndata: {\"n\":1}\n\n"), body
    assert body.end_with?("data: last\n\n"), body
    assert_operator body.scan(": keep-alive\n\n").size, :>=, 2
  end

  def test_a_client_that_leaves_ends_its_stream
    server.connect do |client|
      client.write("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
      client.read_head
      assert_equal "data: again\n\n", client.read_chunk
    end
    server.wait_for(/the endless stream ended/)
  end

  def test_a_body_is_read_piece_by_piece
    [{ "Content-Type" => "application/x-ndjson" },
     { "Content-Type" => "application/x-www-form-urlencoded" },
     {}].each do |headers|
      answer = server.request("POST", "/import?name=ann", body: "x" * 300_000, headers: headers)
      assert_equal [201, { "bytes" => 300_000, "name" => "ann" }], [answer.status, answer.json]
    end
  end

  # What had arrived was lost, and the rest was taken for the whole.
  def test_a_read_of_a_body_that_is_given_up_loses_nothing
    server.connect do |client|
      client.write("POST /patient HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nthe ")
      wait_until("reads are given up") { server.get("/given_up").body == "6" }
      assert_equal({ "body" => "the body" }, client.write("body").read_answer.json)
    end
  end
end
