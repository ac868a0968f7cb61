# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/patience"

# The waits of the standard library, five requests at a time: together they take as long as one, and nobody else
# notices.
class WaitsTest < Minitest::Test
  include Patience

  APP = File.expand_path("../support/apps/waits.rb", __dir__)
  WAITS = %w[wait/sleep wait/system wait/backtick wait/thread wait/queue wait/queue_timeout wait/condition_variable
             wait/mutex wait/file_lock wait/pipe wait/net_http wait/io_select wait/timeout
             kernel_select select_many].freeze

  # Of each request, and of five that wait for each other.
  WAIT_SECONDS = 0.4
  ONE_AFTER_THE_OTHER_SECONDS = 5 * WAIT_SECONDS

  @server = ElahServer.start(APP)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  WAITS.each do |wait|
    define_method(:"test_#{wait.tr('/', '_')}") do
      hellos = []
      assert_operator assert_quick(ONE_AFTER_THE_OTHER_SECONDS) { hellos << five_at_once(wait) }, :>=, WAIT_SECONDS
      assert_operator hellos.min, :<, WAIT_SECONDS, "who asks meanwhile does not wait for them"
    end
  end

  def test_a_timeout_spares_its_neighbour
    server.connect do |innocent|
      innocent.write("GET /sleep/700 HTTP/1.1\r\nHost: a\r\n\r\n")
      server.connect do |client|
        client.write("GET /wait/timeout HTTP/1.1\r\nHost: a\r\n\r\n")
        assert_equal "done", client.read_answer.body
      end
      assert_equal "slept", innocent.read_answer.body
    end
  end

  def test_a_name_is_resolved
    assert_includes %w[127.0.0.1 ::1], server.get("/name").body
  end

  private

  def server = self.class.server

  # @return [Float] seconds that somebody else waited for an answer while five requests did
  def five_at_once(wait)
    waiting = Array.new(5) { HttpClient.new(server.url) }
    waiting.each { |client| client.write("GET /#{wait} HTTP/1.1\r\nHost: 127.0.0.1:#{server.port}\r\n\r\n") }
    server.connect { |client| client.get("/hello") }
    hello = measure { assert_equal "hello", server.get("/hello").body }
    assert_equal ["done"] * 5, waiting.map { |client| client.read_answer.body }
    hello
  ensure
    waiting.each(&:close)
  end
end
