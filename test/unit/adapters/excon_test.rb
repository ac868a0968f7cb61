# frozen_string_literal: true

require "test_helper"
require "support/gems"

return unless Gems.present?("excon")

require "excon"
require "timeout"

# A connection of excon that fibers share, as one in a constant: each call read from the one socket of the thread, so a
# request got the response to another, with status 200.
class ExconAdapterTest < Minitest::Test
  HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"

  def setup
    Elah::Adapters.install
    @asked = Thread::Queue.new
    @answers = Hash.new { |answers, path| answers[path] = Thread::Queue.new }
    %w[/b /c /d].each { |path| @answers[path].close } # these have their responses at once
    @server = TCPServer.new("127.0.0.1", 0)
    @sockets = []
    @thread = Thread.new { loop { answer(@server.accept) } }
  end

  def teardown
    @thread.kill
    @server.close
  end

  [{}, { persistent: true }].each do |options|
    define_method(:"test_fibers_that_share_a_connection_have_their_own_responses_#{options.keys.first}") do
      connection = connect(**options)
      Elah.run do
        calls = %w[/x /y /z].map { |path| Elah.async { connection.get(path: path).body } }
        3.times { @asked.pop }
        %w[/z /y /x].each { |path| @answers[path] << true }
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
      @answers["/x"] << true
      assert_equal "/b", connection.get(path: "/b").body
    end
  end

  def test_a_persistent_socket_is_kept_for_the_next_fiber_and_beside_others
    connection = connect(persistent: true)
    Elah.run do
      waiting = Elah.async { connection.get(path: "/x").body }
      @asked.pop
      assert_equal %w[/b /c /d], %w[/b /c /d].map { |path| Elah.async { connection.get(path: path).body }.value }
      @answers["/x"] << true
      assert_equal "/x", waiting.value
    end
    assert_equal 2, @sockets.size
  end

  def test_pipelined_requests_beside_another
    connection = connect(persistent: true)
    Elah.run do
      waiting = Elah.async { connection.get(path: "/x").body }
      @asked.pop
      requests = %w[/b /c].map { |path| { method: :get, path: path } }
      assert_equal %w[/b /c], connection.requests(requests).map(&:body)
      @answers["/x"] << true
      assert_equal "/x", waiting.value
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
      @sockets.first.wait_readable
      connection.get(path: "/b")
    end
    assert_equal 2, @sockets.size
  end

  def test_a_fork_does_not_use_the_socket_of_its_parent
    connection = connect(persistent: true)
    get = -> { Elah.run { connection.get(path: "/b").body } }
    assert_equal "/b", get.call
    Process.wait(fork { exit!(get.call == "/b" ? 0 : 1) })
    assert_equal [true, 2], [$?.success?, @sockets.size]
  end

  private

  def connect(**options) = Excon.new("http://127.0.0.1:#{@server.addr[1]}", **options)

  # A response comes when the test wants it.
  def answer(socket)
    @sockets << socket
    Thread.new do
      while (line = socket.gets)
        nil until socket.gets == "\r\n"
        path = line.split[1]
        @asked << path
        @answers[path].pop
        socket.write(HEAD, path)
      end
    rescue SystemCallError
      nil # the client has closed the connection
    end
  end
end
