# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# HTTP/1.1 between a client and a handler: connections that are kept, pipelines, HEAD, 100-continue, chunks, streams.
class HttpConnectionTest < Minitest::Test
  APP = File.expand_path("../support/apps/loop.rb", __dir__)

  @server = ElahServer.start(APP, pipeline_max: 4, body_memory_bytes: 65_536)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  def connect(&block) = self.class.server.connect(&block)

  # tokio puts a task off that accepts many connections in one go. It was forgotten once with the turn that ended then,
  # and the server deaf.
  def test_a_crowd_that_waits_to_be_accepted_is_answered
    server = self.class.server
    server.signal(:STOP)
    clients = Array.new(300) do
      HttpClient.new(server.url).tap { |client| client.write("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n") }
    end
    server.signal(:CONT)
    assert_equal [200], clients.map { |client| client.read_answer.status }.uniq
  ensure
    server.signal(:CONT)
    clients&.each(&:close)
  end

  def test_a_connection_serves_many_requests
    connect do |client|
      3.times { |number| assert_equal number.to_s, client.get("/echo/#{number}").body }
    end
  end

  def test_pipelined_requests_are_answered_in_order_however_many_there_are
    connect do |client|
      client.write(Array.new(100) { |number| "GET /echo/#{number} HTTP/1.1\r\nHost: a\r\n\r\n" }.join)
      assert_equal (0...100).map(&:to_s), Array.new(100) { client.read_answer.body }
    end
  end

  def test_a_slow_answer_does_not_overtake_and_is_not_overtaken
    connect do |client|
      client.write("GET /sleep/100 HTTP/1.1\r\nHost: a\r\n\r\nGET /hello HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_equal %w[slept hello], [client.read_answer.body, client.read_answer.body]
    end
  end

  def test_head_has_the_headers_of_get_and_no_body
    connect do |client|
      get = client.get("/hello")
      head = client.request("HEAD", "/hello")
      assert_equal [200, "5", ""], [head.status, head["content-length"], head.body]
      assert_equal get["content-type"], head["content-type"]
      assert_equal "hello", client.get("/hello").body, "the body of HEAD would stand here"
    end
  end

  # A handler may pass the headers of another service on. The client would take the next response for a part of this.
  def test_a_complete_body_has_its_own_length_whatever_the_handler_says
    connect do |client|
      %w[99 0 abc 1,1].product(["", "/raw", "/error"]).each do |length, way|
        answer = client.get("/claimed/#{length}#{way}")
        assert_equal %w[5 hello], [answer["content-length"], answer.body], length + way
        assert_equal "hello", client.get("/hello").body
      end
      head = client.request("HEAD", "/claimed/99")
      assert_equal ["99", ""], [head["content-length"], head.body]
      assert_equal "hello", client.get("/hello").body
    end
  end

  def test_the_log_names_a_stream_whose_content_length_is_wrong
    connect do |client|
      assert_equal "hel", client.get("/claimed/3/stream").body
      answer = client.get("/claimed/5/stream")
      assert_equal %w[5 hello], [answer["content-length"], answer.body]
      assert_equal "hello", client.get("/hello").body
    end
    assert_raises(HttpClient::Closed) { connect { |client| client.get("/claimed/7/stream") } }
    server = self.class.server
    server.wait_for(%r{WARN .*GET /claimed/7/stream ended after 5 of the 7 bytes of its content-length})
    assert_match(%r{WARN .*GET /claimed/3/stream is longer than its content-length of 3 bytes}, server.log)
    refute_match(%r{GET /claimed/5/stream}, server.log)
  end

  def test_expect_100_continue_is_answered_before_the_body_is_sent
    connect do |client|
      client.write("POST /length HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n" \
                   "Content-Type: text/plain\r\n\r\n")
      assert_equal 100, client.read_answer.status
      client.write("12345")
      assert_equal [201, "5"], client.read_answer.then { |answer| [answer.status, answer.body] }
    end
  end

  def test_a_chunked_request_body_is_put_together
    connect do |client|
      client.write("POST /length HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" \
                   "Content-Type: text/plain\r\n\r\n3\r\nabc\r\n10\r\n#{'x' * 16}\r\n0\r\n\r\n")
      assert_equal "19", client.read_answer.body
    end
  end

  def test_a_body_past_the_memory_bound_is_spooled_and_whole
    connect do |client|
      answer = client.request("POST", "/length", body: "x" * 1_000_000, headers: { "Content-Type" => "text/plain" })
      assert_equal [201, "1000000"], [answer.status, answer.body]
    end
  end

  def test_a_streamed_request_body_is_read_while_it_comes
    connect do |client|
      client.write("POST /read_slowly HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\n" \
                   "Content-Type: text/plain\r\n\r\n")
      20.times { client.write("x" * 10_000) }
      assert_equal "200000", client.read_answer.body
    end
  end

  def test_a_stream_is_chunked_and_complete_and_the_connection_goes_on
    connect do |client|
      answer = client.get("/stream/100/10000")
      assert_equal ["chunked", 1_000_000], [answer["transfer-encoding"], answer.body.bytesize]
      assert_equal "hello", client.get("/hello").body
    end
  end

  def test_a_stream_that_breaks_is_not_taken_for_whole
    connect do |client|
      client.write("GET /stream_that_breaks HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_raises(HttpClient::Closed) { client.read_answer }
    end
    self.class.server.wait_for(/stream_that_breaks failed, after its response had begun .*: RuntimeError: broken off/)
  end

  def test_http_1_0_is_answered_and_closed
    connect do |client|
      client.write("GET /hello HTTP/1.0\r\n\r\n")
      assert_match(/hello\z/, client.read_to_end)
    end
  end

  # RFC 9110 2.5: a higher minor version is served as the highest that the server knows.
  def test_http_1_2_is_served_as_1_1
    connect do |client|
      client.write("GET /echo/1 HTTP/1.2\r\nHost: a\r\n\r\n" \
                   "POST /length HTTP/1.9\r\nHost: a\r\nTransfer-Encoding: chunked\r\n" \
                   "Content-Type: text/plain\r\n\r\n3\r\nabc\r\n0\r\n\r\n" \
                   "GET /echo/2 HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_equal %w[1 3 2], Array.new(3) { client.read_answer.body }
      "GET /echo/3 HTTP/1.3\r\nHost: a\r\n\r\n".each_char { |byte| client.write(byte) }
      assert_equal "3", client.read_answer.body
    end
  end

  def test_connection_close_is_obeyed
    connect do |client|
      client.write("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
      assert_match(/hello\z/, client.read_to_end)
    end
  end

  def test_a_half_closed_connection_is_answered
    connect do |client|
      client.write("GET /sleep/50 HTTP/1.1\r\nHost: a\r\n\r\n")
      client.socket.close_write
      assert_equal "slept", client.read_answer.body
    end
  end

  def test_a_unix_socket_serves_as_well
    Dir.mktmpdir do |folder|
      ElahServer.start(APP, bind: "unix://#{folder}/elah.sock") do |server|
        assert_equal "hello", server.get("/hello").body
      end
      refute File.exist?("#{folder}/elah.sock"), "the socket file is removed"
    end
  end
end
