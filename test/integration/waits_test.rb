# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/patience"

# The waits of the standard library, five requests at a time: together they take as long as one, and nobody else notices.
class WaitsTest < Minitest::Test
  include Patience

  APP = File.expand_path("../support/apps/waits.rb", __dir__)
  WAITS = %w[wait/sleep wait/system wait/backtick wait/thread wait/queue wait/queue_timeout wait/condition_variable wait/mutex wait/pipe
             wait/net_http wait/io_select wait/timeout kernel_select select_many].freeze

  @server = ElahServer.start(APP)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  WAITS.each do |wait|
    define_method(:"test_#{wait.tr('/', '_')}") do
      waiting = Array.new(5) { HttpClient.new(server.url) }
      seconds = measure do
        waiting.each { |client| client.write("GET /#{wait} HTTP/1.1\r\nHost: 127.0.0.1:#{server.port}\r\n\r\n") }
        server.connect { |client| client.get("/hello") }
        assert_operator measure { assert_equal "hello", server.get("/hello").body }, :<, 0.15
        assert_equal ["done"] * 5, waiting.map { |client| client.read_answer.body }
      end
      assert_in_delta 0.5, seconds, 0.2
    ensure
      waiting.each(&:close)
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
end
