# frozen_string_literal: true

require "test_helper"
require "net/http"
require "timeout"

# A kept connection of Net::HTTP whose request is cancelled: the next request on it got the response to that one.
class NetHTTPAdapterTest < Minitest::Test
  HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"

  def setup
    Elah::Adapters.install
    @late = Thread::Queue.new
    @asked = Thread::Queue.new
    @server = TCPServer.new("127.0.0.1", 0)
    @thread = Thread.new { loop { answer(@server.accept) } }
  end

  def teardown
    @thread.kill
    @server.close
  end

  def test_the_request_after_a_cancelled_one_has_its_own_response
    Elah.run do
      http = start
      cancelled = Elah.async { http.get("/a") }
      @asked.pop
      cancelled.cancel.wait
      @late << true
      assert_equal "/b", http.get("/b").body
    end
  end

  def test_the_request_after_one_that_timed_out_has_its_own_response
    Elah.run do
      http = start
      assert_raises(Timeout::Error) { Timeout.timeout(0.05) { http.get("/a") } }
      @late << true
      assert_equal "/b", http.get("/b").body
    end
  end

  def test_a_connection_is_kept_otherwise
    Elah.run do
      http = start
      assert_equal ["/b", "/c"], ["/b", "/c"].map { |path| http.get(path).body }
    end
    assert_equal 1, @connections
  end

  private

  def start = Net::HTTP.start("127.0.0.1", @server.addr[1])

  # The response to /a comes when the test wants it.
  def answer(socket)
    @connections = @connections.to_i + 1
    Thread.new do
      while (line = socket.gets)
        nil until socket.gets == "\r\n"
        @asked << line
        @late.pop if line.include?("/a")
        socket.write(HEAD, line.split[1])
      end
    rescue SystemCallError
      nil # the client has closed the connection
    end
  end
end
