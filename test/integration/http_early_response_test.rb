# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/raw_exchange"

# Answers that come before the body of their request, and errors with requests behind them: whoever keeps the connection
# learns from the answer whether the next request will be served.
class HttpEarlyResponseTest < Minitest::Test
  include RawExchange

  APP = <<~RUBY
    class Early < Elah::API
      format :txt
      post("/refuse", stream_body: true) { error!("no", 422) }
      post("/ignore", stream_body: true) { "ignored" }
      post("/fail", stream_body: true) { raise "broken" }
      post("/first", stream_body: true) { request.each_body_chunk { |chunk| break chunk.bytesize }.to_s }
      post("/whole", stream_body: true) do
        bytes = 0
        request.each_body_chunk { |chunk| bytes += chunk.bytesize }
        bytes.to_s
      end
      post("/stream", stream_body: true) { stream { |out| out << "a" } }
      post("/sleep", stream_body: true) { request.each_body_chunk { |chunk| chunk } }
      post("/patient", stream_body: true) do
        parts = [request.each_body_chunk { |chunk| break chunk }]
        begin
          Timeout.timeout(0.05) { request.each_body_chunk { |chunk| parts << chunk } }
        rescue Timeout::Error
          parts << "|"
        end
        stream do |out|
          out << parts.join
          request.each_body_chunk { |chunk| out << chunk }
        end
      end
      post("/shared", stream_body: true) do
        readers = Array.new(2) do
          Elah.async { [].tap { |chunks| request.each_body_chunk { |chunk| chunks << chunk } } }
        end
        readers.flat_map(&:value).sort.join
      end
      post("/keep", stream_body: true) { @@kept = request and "kept" }
      get("/kept") do
        @@kept.each_body_chunk { |chunk| chunk }
        "the end of the body"
      rescue Elah::RequestFinished => e
        e.class
      end
      post("/body") { request.body.bytesize.to_s }
      get("/next") { "next" }
      get("/echo/:word") { params[:word] }
      post("/echo/:word") { params[:word] }
    end
    run Early
  RUBY

  @server = ElahServer.start(APP, body_bytes_max: 1_000_000)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  NEXT = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"

  def head_of(path, *lines, version: "1.1")
    "POST #{path} HTTP/#{version}\r\n#{["Host: a", *lines].join("\r\n")}\r\n\r\n"
  end

  def connect(&block) = self.class.server.connect(&block)

  # The connection was reset after 1 MB. nginx, which looks at the response when it has sent the request, answered 502
  # and took the server for failed.
  def test_a_client_may_send_a_long_body_before_it_reads_the_response
    ElahServer.start(APP, body_bytes_max: 20_000_000) do |server|
      { "/refuse" => [422, 16], "/ignore" => [201, 16], "/body" => [413, 24] }.each do |path, (status, megabytes)|
        server.connect do |client|
          client.write(head_of(path, "Content-Length: #{megabytes}000000"))
          megabytes.times { client.write("x" * 1_000_000) }
          answer = client.read_answer
          assert_equal [status, "close"], [answer.status, answer.headers["connection"]], path
        end
      end
    end
  end

  # The second reader was the only one that was woken, and the first waited until the deadline.
  def test_two_fibers_share_the_pieces_of_a_body
    connect do |client|
      client.write(head_of("/shared", "Transfer-Encoding: chunked", "Expect: 100-continue"))
      assert_equal "HTTP/1.1 100 Continue\r\n\r\n", client.read_bytes(25)
      %w[a b c].each { |piece| client.write("1\r\n#{piece}\r\n") }
      client.write("0\r\n\r\n")
      assert_equal "abc", client.read_answer.body
    end
  end

  # It had the end of the body, as if everything had come.
  def test_a_body_cannot_be_read_after_its_request
    connect { |client| assert_equal "kept", client.request("POST", "/keep", body: "x" * 300_000).body }
    assert_equal "Elah::RequestFinished", self.class.server.get("/kept").body
  end

  def test_an_answer_before_the_body_says_that_the_connection_closes
    { "/refuse" => 422, "/ignore" => 201, "/fail" => 500, "/stream" => 201, "/first" => 201 }.each do |path, status|
      ["Content-Length: 100000", "Transfer-Encoding: chunked"].each do |length|
        connect do |client|
          client.write(head_of(path, length)).write(length.include?("chunked") ? "3\r\nabc\r\n" : "abc")
          answer = client.read_answer
          assert_equal [status, "close"], [answer.status, answer["connection"]], "#{path} #{length}"
          assert_predicate client, :closed_by_server?, "#{path} #{length}"
        end
      end
    end
  end

  # The client that announced a body, got its answer and sent the next request without looking lost that request once.
  def test_the_body_and_the_next_request_that_follow_are_no_request
    outcome = exchange(self.class.server, [head_of("/refuse", "Content-Length: #{NEXT.bytesize}"), NEXT, NEXT])
    assert_equal [422], outcome.statuses
    assert_equal "close", outcome.last["connection"]
    assert_predicate outcome, :closed?
  end

  def test_after_a_body_that_was_read_the_connection_goes_on
    ["Content-Length: 6", "Transfer-Encoding: chunked"].each do |length|
      connect do |client|
        2.times do
          client.write(head_of("/whole", length))
                .write(length.include?("chunked") ? "6\r\nabcdef\r\n0\r\n\r\n" : "abcdef")
          answer = client.read_answer
          assert_equal [201, "6", nil], [answer.status, answer.body, answer["connection"]]
        end
        assert_equal "next", client.write(NEXT).read_answer.body
      end
    end
  end

  # The last piece is the end of a body whose length is known.
  def test_a_handler_need_not_ask_for_the_end_of_a_body_of_known_length
    connect do |client|
      client.write(head_of("/first", "Content-Length: 3")).write("abc")
      answer = client.read_answer
      assert_equal ["3", nil], [answer.body, answer["connection"]]
      assert_equal "next", client.write(NEXT).read_answer.body
    end
  end

  def test_a_client_of_http_1_0_that_would_keep_the_connection_is_told_too
    connect do |client|
      client.write(head_of("/refuse", "Content-Length: 100", "Connection: keep-alive", version: "1.0"))
      head = client.read_to_end.split("\r\n\r\n").first.downcase
      assert_includes head, "connection: close"
      refute_includes head, "keep-alive"
    end
    connect do |client|
      client.write("GET /echo/%zz HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n")
      head = client.read_to_end.split("\r\n\r\n").first.downcase
      assert_includes head, "connection: close"
      refute_includes head, "keep-alive"
    end
  end

  # Its end is the end of the connection. It said `keep-alive` once.
  def test_a_body_of_unknown_length_closes_for_a_client_of_http_1_0
    connect do |client|
      client.write("POST /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      head, body = client.read_to_end.split("\r\n\r\n", 2)
      assert_equal "a", body
      assert_includes head, "connection: close"
      refute_includes head, "keep-alive"
    end
  end

  def test_a_client_of_http_1_0_keeps_the_connection_otherwise
    connect do |client|
      2.times do
        answer = client.write("GET /next HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").read_answer
        assert_equal %w[next keep-alive], [answer.body, answer["connection"]]
      end
    end
  end

  def test_a_deadline_in_the_middle_of_a_body_closes
    ElahServer.start(APP, request_seconds: 0.3, body_seconds: 3600) do |server|
      server.connect do |client|
        client.write(head_of("/sleep", "Content-Length: 100")).write("abc")
        answer = client.read_answer
        assert_equal [504, "close"], [answer.status, answer["connection"]]
        assert_predicate client, :closed_by_server?
      end
    end
  end

  # What came after a read was given up was lost once, and the body seemed to end.
  def test_a_read_that_is_given_up_loses_nothing
    connect do |client|
      client.write(head_of("/patient", "Content-Length: 6")).write("abc")
      answer = client.read_head
      assert_equal [201, "close"], [answer.status, answer["connection"]]
      assert_equal "abc|", client.read_chunk
      assert_equal "def", client.write("def").read_chunk
      assert_equal "", client.read_chunk
    end
  end

  # Without the body nobody can know whether it will come (RFC 9110 10.1.1), therefore the connection ends.
  def test_an_error_instead_of_100_continue_closes
    connect do |client|
      answer = client.write(head_of("/refuse", "Content-Length: 5", "Expect: 100-continue")).read_answer
      assert_equal [422, "close"], [answer.status, answer["connection"]]
      assert_predicate client, :closed_by_server?
    end
    connect do |client|
      answer = client.write(head_of("/body", "Content-Length: 1000001", "Expect: 100-continue")).read_answer
      assert_equal [413, "close"], [answer.status, answer["connection"]]
      assert_predicate client, :closed_by_server?
    end
    connect do |client|
      answer = client.write(head_of("/echo/%zz", "Content-Length: 5", "Expect: 100-continue")).read_answer
      assert_equal [400, "close"], [answer.status, answer["connection"]]
      assert_predicate client, :closed_by_server?
    end
  end

  def test_100_continue_comes_when_the_handler_reads
    connect do |client|
      client.write(head_of("/whole", "Content-Length: 5", "Expect: 100-continue"))
      assert_equal 100, client.read_answer.status
      assert_equal "5", client.write("abcde").read_answer.body
      assert_equal "next", client.write(NEXT).read_answer.body
    end
  end

  def test_requests_behind_an_error_are_served_unless_it_says_close
    requests = { head_of("/nowhere", "Content-Length: 3") + "abc" => 404,
                 "DELETE /next HTTP/1.1\r\nHost: a\r\n\r\n" => 405,
                 head_of("/body", "Content-Length: 3", "Content-Type: a/b") + "abc" => 415 }
    connect do |client|
      client.write(requests.keys.join + NEXT)
      answers = Array.new(4) { client.read_answer }
      assert_equal [*requests.values, 200], answers.map(&:status)
      assert_equal [nil], answers.map { |answer| answer["connection"] }.uniq
    end
    ["GET /echo/%zz HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"].each do |broken|
      outcome = exchange(self.class.server, NEXT + broken + NEXT)
      assert_equal [200, 400], outcome.statuses
      assert_equal [nil, "close"], (outcome.answers.map { |answer| answer["connection"] })
      assert_predicate outcome, :closed?
    end
  end

  def test_an_early_response_arrives_although_the_client_still_sends
    connect do |client|
      client.write(head_of("/refuse", "Content-Length: 900000"))
      writer = Thread.new do
        9.times { client.write("x" * 100_000) }
      rescue Errno::EPIPE, Errno::ECONNRESET
        nil
      end
      assert_equal 422, client.read_answer.status
      writer.join
    end
  end
end
