# frozen_string_literal: true

require "test_helper"
require "support/gems"
require "support/held_http_server"

return unless Gems.present?("excon")

require "excon"
require "timeout"

# A connection of excon that fibers share, as one in a constant: each call read from the one socket of the thread, so a
# request got the response to another, with status 200.
class ExconAdapterTest < Minitest::Test
  def setup
    Elah::Adapters.install
    @server = HeldHTTPServer.new("/x", "/y", "/z")
  end

  def teardown = @server.stop

  [{}, { persistent: true }].each do |options|
    define_method(:"test_fibers_that_share_a_connection_have_their_own_responses_#{options.keys.first}") do
      connection = connect(**options)
      Elah.run do
        calls = %w[/x /y /z].map { |path| Elah.async { connection.get(path: path).body } }
        3.times { @server.asked.pop }
        %w[/z /y /x].each { |path| @server.release(path) }
        assert_equal %w[/x /y /z], calls.map(&:value)
      end
    end
  end

  # Excon notes for all callers together that a socket has an unread response, and the call of /c deletes the note.
  def test_the_call_after_one_that_timed_out_has_its_own_response
    connection = connect(persistent: true)
    Elah.run do
      assert_raises(Timeout::Error) { Timeout.timeout(0.05) { connection.get(path: "/x") } }
      Elah.async { connection.get(path: "/c") }.value
      @server.release("/x")
      assert_equal "/b", connection.get(path: "/b").body
    end
  end

  def test_a_persistent_socket_is_kept_for_the_next_fiber_and_beside_others
    beside_a_waiting_call do |connection|
      assert_equal %w[/b /c /d], %w[/b /c /d].map { |path| Elah.async { connection.get(path: path).body }.value }
    end
    assert_equal 2, @server.sockets.size
  end

  def test_pipelined_requests_beside_another
    beside_a_waiting_call do |connection|
      requests = %w[/b /c].map { |path| { method: :get, path: path } }
      assert_equal %w[/b /c], connection.requests(requests).map(&:body)
    end
  end

  # Its socket has a response that belongs to nobody.
  def test_a_pipelined_request_that_nobody_reads_is_not_met_by_the_next
    connection = connect(persistent: true)
    Elah.run do
      connection.request(method: :get, path: "/c", pipeline: true)
      assert_equal "/b", connection.get(path: "/b").body
    end
  end

  def test_reset_closes_the_kept_sockets
    connection = connect(persistent: true)
    Elah.run do
      connection.get(path: "/b")
      connection.reset
      @server.sockets.first.wait_readable
      connection.get(path: "/b")
    end
    assert_equal 2, @server.sockets.size
  end

  def test_a_fork_does_not_use_the_socket_of_its_parent
    connection = connect(persistent: true)
    get = -> { Elah.run { connection.get(path: "/b").body } }
    assert_equal "/b", get.call
    Process.wait(fork { exit!(get.call == "/b" ? 0 : 1) })
    assert_equal [true, 2], [$?.success?, @server.sockets.size]
  end

  private

  def connect(**options) = Excon.new("http://127.0.0.1:#{@server.port}", **options)

  # @yieldparam connection [Excon::Connection] one on which another fiber waits for its own response
  def beside_a_waiting_call
    connection = connect(persistent: true)
    Elah.run do
      waiting = Elah.async { connection.get(path: "/x").body }
      @server.asked.pop
      yield connection
      @server.release("/x")
      assert_equal "/x", waiting.value
    end
  end
end
