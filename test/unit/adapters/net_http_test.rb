# frozen_string_literal: true

require "test_helper"
require "net/http"
require "support/held_http_server"
require "timeout"

# A kept connection of Net::HTTP whose request is cancelled: the next request on it got the response to that one.
class NetHTTPAdapterTest < Minitest::Test
  def setup
    Elah::Adapters.install
    @server = HeldHTTPServer.new("/a")
  end

  def teardown = @server.stop

  def test_the_request_after_a_cancelled_one_has_its_own_response
    Elah.run do
      http = start
      cancelled = Elah.async { http.get("/a") }
      @server.asked.pop
      cancelled.cancel.wait
      @server.release("/a")
      assert_equal "/b", http.get("/b").body
    end
  end

  def test_the_request_after_one_that_timed_out_has_its_own_response
    Elah.run do
      http = start
      assert_raises(Timeout::Error) { Timeout.timeout(0.05) { http.get("/a") } }
      @server.release("/a")
      assert_equal "/b", http.get("/b").body
    end
  end

  def test_a_connection_is_kept_otherwise
    Elah.run do
      http = start
      assert_equal ["/b", "/c"], ["/b", "/c"].map { |path| http.get(path).body }
    end
    assert_equal 1, @server.sockets.size
  end

  private

  def start = Net::HTTP.start("127.0.0.1", @server.port)
end
