# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/patience"

# Connections that a Rack app takes over: real sockets, which the server forgets.
class RackHijackTest < Minitest::Test
  include Patience

  APP = File.expand_path("../support/apps/rack_hijack.ru", __dir__)

  @server = ElahServer.start(APP)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  def test_full
    answer = server.get("/full")
    assert_equal [200, "raw"], [answer.status, answer.body]
  end

  def test_it_is_a_socket
    assert_equal "TCPSocket Integer true true true true", raw("/io")
  end

  def test_on_a_unix_socket
    Dir.mktmpdir do |folder|
      ElahServer.start(APP, bind: "unix://#{folder}/s") do |server|
        assert_equal "UNIXSocket Integer true true true true", raw("/io", server: server)
      end
    end
  end

  def test_what_was_read_already_is_read_first
    assert_equal "line early\nline late\n", raw("/echo_line", rest: "early\nlate\n")
    assert_equal "earli|er", raw("/readpartial", rest: "earlier")
  end

  def test_what_comes_later
    server.connect do |client|
      client.write(request("/echo_line")).write("first\n")
      assert_equal "line first\n", client.read_bytes(11)
      assert_equal "line second\n", client.write("second\n").read_to_end
    end
  end

  def test_the_app_may_keep_it
    assert_equal "from a thread: hello\n", raw("/kept", rest: "hello\n")
    assert_equal "from a fiber: hello\n", raw("/spawned", rest: "hello\n")
  end

  def test_answers_before_it_on_the_same_connection_arrive
    server.connect do |client|
      client.write(request("/plain")).write(request("/echo_line")).write("a\nb\n")
      assert_equal "plain", client.read_answer.body
      assert_equal "line a\nline b\n", client.read_to_end
    end
  end

  def test_an_exception_after_it_is_logged_and_says_nothing
    assert_equal "half", raw("/raises")
    server.wait_for(/GET \/raises failed, after its response had begun .*: RuntimeError: after the take-over/)
  end

  # Nobody took the connection that arrived after its fiber had ended: it stayed open for ever.
  def test_a_connection_that_nobody_waits_for_is_closed
    before = server.get("/open_files").body
    4.times { assert_empty raw("/left") }
    wait_until("they are closed") { server.get("/open_files").body == before }
  end

  def test_partial
    head, body = raw("/partial").split("\r\n\r\n")
    assert_equal ["HTTP/1.1 200 OK", "connection: close", "content-type: text/plain", "x-lines: 1", "x-lines: 2"],
                 head.split("\r\n").sort
    assert_equal "partial TCPSocket", body
  end

  # The app wrote its content after the head.
  def test_the_head_of_a_partial_one
    request = "HEAD /partial HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    answer = server.connect { |client| client.write(request).read_to_end }
    assert_match(%r{\AHTTP/1.1 200 OK\r\n.*x-lines: 2\r\n.*\r\n\r\n\z}m, answer)
  end

  def test_an_upgrade
    %w[/partial_upgrade /streaming_upgrade].each do |path|
      head, body = raw(path, rest: "hello\n").split("\r\n\r\n")
      assert_equal ["http/1.1 101 switching protocols", "connection: upgrade", "upgrade: echo"].sort,
                   head.downcase.split("\r\n").sort
      assert_equal "echo hello\n", body
    end
  end

  def test_a_callback_that_raises_ends_the_connection
    assert_match(/\r\n\r\npart\z/, raw("/partial_raises"))
    server.wait_for(/GET \/partial_raises failed, after its response had begun .*: RuntimeError: in the callback/)
  end

  def test_a_wrong_header_is_found_before_anything_is_sent
    answer = server.get("/partial_header")
    assert_equal [500, "internal_error"], [answer.status, answer.json["code"]]
  end

  def test_lint_agrees
    ElahServer.start(APP, env: { "LINT" => "1" }) do |server|
      assert_match(/\Apartial Rack::Lint::\w+/, raw("/partial", server: server).split("\r\n\r\n").last)
      assert_equal "raw", server.get("/full").body
    end
  end

  def test_a_client_of_http_1_0_gets_a_head_of_its_version
    server.connect do |client|
      head = client.write("GET /partial HTTP/1.0\r\n\r\n").read_to_end
      assert_match(%r{\AHTTP/1\.0 200 OK\r\n.*\r\n\r\npartial TCPSocket\z}m, head)
    end
    assert_match(%r{\AHTTP/1\.1 200 OK\r\n}, raw("/partial"))
  end

  def test_a_drain_does_not_wait_for_it
    ElahServer.start(APP) do |server|
      server.connect do |client|
        assert_equal "held", client.write(request("/held")).read_bytes(4)
        server.stop(seconds: 20)
      end
    end
  end

  def test_it_is_not_timed
    ElahServer.start(APP, request_seconds: 2, keepalive_seconds: 2) do |server|
      server.connect do |client|
        assert_equal "line first\n", client.write(request("/echo_line")).write("first\n").read_bytes(11)
        assert_equal 504, server.get("/sleeps").status, "the same time has passed for others"
        assert_equal "line second\n", client.write("second\n").read_to_end
      end
    end
  end

  private

  def server = self.class.server

  def request(path) = "GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n"

  # All that comes back, until the server closes.
  def raw(path, rest: "", server: self.class.server)
    server.connect { |client| client.write(request(path) + rest).read_to_end }
  end
end
