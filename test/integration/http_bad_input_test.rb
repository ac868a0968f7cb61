# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/raw_exchange"

# What the server refuses by itself, over a real socket: the status, the stable code, a closed connection, and a handler
# that never ran. The rules are in specs/http_limits.md.
class HttpBadInputTest < Minitest::Test
  include RawExchange

  APP = File.expand_path("../support/apps/echo.rb", __dir__)
  LIMITS = { header_bytes_max: 2048, headers_max: 10, uri_bytes_max: 256, body_bytes_max: 10_000 }.freeze

  @server = ElahServer.start(APP, **LIMITS)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server

    # Defines a test for each case.
    #
    # @param cases [Hash{String=>String}] what is wrong, and the bytes
    def refuses(status, code, cases)
      cases.each do |name, bytes|
        define_method("test_#{status}_#{code}_#{name.tr(' ', '_')}") { refuse(status, code, bytes) }
      end
    end
  end

  extend RawExchange

  refuses 400, "invalid_request_line",
          "no version" => "GET /\r\n\r\n",
          "a word alone" => "hello\r\n\r\n".upcase,
          "leading space" => " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
          "space at the end" => "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
          "a TLS hello" => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".b,
          "two empty lines first" => "\r\n\r\n#{get}",
          "PROXY protocol" => "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n#{get}"

  refuses 400, "invalid_method",
          "lower case" => "get / HTTP/1.1\r\nHost: a\r\n\r\n",
          "a delimiter" => "G[T / HTTP/1.1\r\nHost: a\r\n\r\n",
          "NUL" => "GE\0T / HTTP/1.1\r\nHost: a\r\n\r\n"

  refuses 501, "method_not_implemented",
          "CONNECT" => "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
          "33 letters" => "#{'M' * 33} / HTTP/1.1\r\nHost: a\r\n\r\n"

  refuses 400, "invalid_target",
          "two spaces" => "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
          "a space inside" => get(target: "/a b"),
          "an asterisk for GET" => get(target: "*"),
          "an authority for GET" => get(target: "test.example:80"),
          "no slash" => get(target: "!"),
          "a fragment" => get(target: "/a#b"),
          "raw UTF-8" => get(target: "/\u00e9"),
          "a control byte" => get(target: "/a\x01"),
          "a foreign scheme" => get(target: "ftp://test.example/"),
          "user information" => get(target: "http://user@test.example/")

  refuses 505, "http_version_not_supported",
          "HTTP 2 preface" => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
          "HTTP 0.9" => get(version: "HTTP/0.9"),
          "HTTP 3.1" => get(version: "HTTP/3.1")

  refuses 400, "invalid_line_end",
          "LF after the request line" => "GET / HTTP/1.1\nHost: a\r\n\r\n",
          "LF after a header" => "GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n",
          "LF as the empty line" => "GET / HTTP/1.1\r\nHost: a\r\n\n",
          "LF in chunk framing" => post_chunked("5\nhello\r\n0\r\n\r\n")

  refuses 400, "invalid_header_name",
          "space before the colon" => get("X : a"),
          "no name" => get(": a"),
          "no colon" => get("hello"),
          "a delimiter" => get("X(: a"),
          "a byte above ASCII" => get("X\u00e9: a")

  refuses 400, "invalid_header_value",
          "NUL" => get("X: a\0b"),
          "bare CR" => get("X: a\rY: b"),
          "escape" => get("X: \e[31m")

  refuses 400, "folded_header",
          "by a space" => get("X: a", " b"),
          "by a tab" => get("X: a", "\tb")

  refuses 400, "invalid_host",
          "missing" => get(host: nil),
          "twice" => get("Host: test.example"),
          "twice and different" => get("host: other.example"),
          "empty" => get(host: "Host:"),
          "no host name" => get(host: "Host: ###"),
          "a list" => get(host: "Host: a, b"),
          "a path" => get(host: "Host: a/b"),
          "a wrong port" => get(host: "Host: a:65536"),
          "not the target's" => get(target: "http://other.example/")

  refuses 400, "ambiguous_header",
          "both spellings" => get("X-Forwarded-For: 1", "X_Forwarded_For: 2"),
          "framing with underscores" => post("Content_Length: 5", body: "hello")

  refuses 400, "invalid_content_length",
          "repeated" => post("Content-Length: 5", "Content-Length: 5", body: "hello"),
          "conflicting" => post("Content-Length: 5", "Content-Length: 6", body: "hello!"),
          "a list" => post("Content-Length: 5, 5", body: "hello"),
          "a sign" => post("Content-Length: +5", body: "hello"),
          "negative" => post("Content-Length: -5", body: "hello"),
          "hexadecimal" => post("Content-Length: 0x5", body: "hello"),
          "empty" => post("Content-Length:", body: "hello"),
          "an underscore" => post("Content-Length: 0_5", body: "hello"),
          "twenty zeros" => post("Content-Length: #{'0' * 20}", body: "")

  refuses 400, "invalid_transfer_encoding",
          "chunked twice" => post("Transfer-Encoding: chunked, chunked", body: "0\r\n\r\n"),
          "two headers" => post("Transfer-Encoding: chunked", "Transfer-Encoding: chunked", body: "0\r\n\r\n"),
          "an empty element" => post("Transfer-Encoding: ,chunked", body: "0\r\n\r\n"),
          "not chunked at last" => post("Transfer-Encoding: chunked, gzip", body: "0\r\n\r\n"),
          "identity" => post("Transfer-Encoding: identity", body: "0\r\n\r\n"),
          "a look-alike" => post("Transfer-Encoding: xchunked", body: "0\r\n\r\n"),
          "a tab" => post("Transfer-Encoding:\tchunked", body: "0\r\n\r\n"),
          "in HTTP 1.0" => "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"

  refuses 501, "transfer_encoding_not_implemented",
          "gzip before chunked" => post("Transfer-Encoding: gzip, chunked", body: "0\r\n\r\n")

  refuses 400, "ambiguous_body_length",
          "length and encoding" => post("Content-Length: 5", "Transfer-Encoding: chunked", body: "0\r\n\r\n"),
          "encoding and length" => post("Transfer-Encoding: chunked", "Content-Length: 5", body: "0\r\n\r\n")

  refuses 417, "expectation_failed", "another expectation" => post("Expect: 200-ok", body: "")

  refuses 414, "target_too_long",
          "whole" => get(target: "/#{'a' * 256}"),
          "without an end" => "GET /#{'a' * 400}"

  refuses 431, "headers_too_large",
          "whole" => get("X: #{'x' * 2048}"),
          "without an end" => "GET / HTTP/1.1\r\nX: #{'x' * 3000}"

  refuses 431, "too_many_headers", "eleven" => get(*(["X: a"] * 10))

  refuses 413, "body_too_large",
          "announced" => post("Content-Length: 10001"),
          "beyond 64 bits" => post("Content-Length: #{'9' * 25}"),
          "announced with an expectation" => post("Content-Length: 10001", "Expect: 100-continue"),
          "in one chunk" => post_chunked("2711\r\n"),
          "in many chunks" => post_chunked("3e8\r\n#{'x' * 1000}\r\n" * 11)

  refuses 400, "invalid_chunk",
          "no size" => post_chunked("\r\nhello\r\n0\r\n\r\n"),
          "a sign" => post_chunked("+5\r\nhello\r\n0\r\n\r\n"),
          "hexadecimal prefix" => post_chunked("0x5\r\nhello\r\n0\r\n\r\n"),
          "overflow" => post_chunked("10000000000000005\r\nhello\r\n0\r\n\r\n"),
          "data beyond the size" => post_chunked("5\r\nhello!\r\n0\r\n\r\n"),
          "space after the size" => post_chunked("5 \r\nhello\r\n0\r\n\r\n"),
          "a long extension" => post_chunked("5;#{'e' * 1100}\r\nhello\r\n0\r\n\r\n"),
          "many extensions" => post_chunked("1;#{'e' * 900}\r\nx\r\n" * 10)

  refuses 400, "invalid_trailer", "Content-Length" => post_chunked("0\r\nContent-Length: 5\r\n\r\n")

  refuses 431, "trailers_too_large",
          "eleven" => post_chunked("0\r\n#{"X: a\r\n" * 11}\r\n"),
          "one without an end" => post_chunked("0\r\nX: #{'x' * 9000}")

  def test_a_body_cut_short_is_refused
    outcome = server.connect do |client|
      client.write(post("Content-Length: 5", body: "hel"))
      client.socket.close_write
      collect(client)
    end
    assert_refused 400, "incomplete_body", outcome
  end

  def test_requests_before_a_bad_one_are_answered_in_order_and_the_ones_after_it_are_not
    bytes = get(target: "/sleep?0.05") + post("Content-Length: 2", body: "ok") + get(host: nil) + get(target: "/after")
    outcome = exchange(server, bytes)
    assert_equal [200, 200, 400], outcome.statuses
    assert_equal "slept", outcome.answers[0].body
    assert_equal "ok", outcome.answers[1].json["body"]
    assert_nil outcome.answers[1]["connection"]
    assert_refused 400, "invalid_host", outcome
  end

  def test_nothing_is_said_after_an_answer_that_closes
    outcome = exchange(server, get("Connection: close") + get(host: nil))
    assert_equal [200], outcome.statuses
    assert_predicate outcome, :closed?
  end

  def test_a_refusal_says_what_is_wrong
    outcome = exchange(server, get("Host: a"))
    problem = outcome.last.json
    assert_equal "The request has 2 Host headers; exactly one is needed.", problem["detail"]
    assert_equal %w[code detail request_id status title type], problem.keys.sort
  end

  def test_what_a_client_sent_comes_back_as_plain_text_only
    outcome = exchange(server, get(host: "Host: \xff\"<script>\u00e9"))
    assert_equal %q(The host "\xff\"<script>\xc3\xa9" is not a host name or IP address with an optional port.),
                 outcome.last.json["detail"]
  end

  def test_plain_requests_are_served
    accepted = {
      "HTTP/1.0" => "GET / HTTP/1.0\r\n\r\n",
      "an empty line first" => "\r\n#{get}",
      "an absolute target" => get(target: "http://test.example/"),
      "a port" => get(host: "Host: test.example:8080"),
      "IPv6" => get(host: "Host: [::1]:80"),
      "obs-text" => get("X: \xe9"),
      "an underscore alone" => get("X_Y: 1"),
      "chunks" => post_chunked("3;a=b\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n"),
      "the longest target" => get(target: "/#{'a' * 255}"),
      "the largest body" => post("Content-Length: 10000", body: "x" * 10_000)
    }
    accepted.each do |name, bytes|
      assert_equal [200], exchange(server, bytes + get("Connection: close", target: "/seen")).statuses[0, 1], name
    end
  end

  private

  def server = self.class.server

  # The handler must not have run: the count of what it saw stays.
  def refuse(status, code, bytes)
    before = seen
    outcome = exchange(server, bytes)
    assert_refused status, code, outcome
    assert_equal 1, outcome.answers.size
    assert_equal before, seen
  end

  def seen = server.get("/seen").body
end
