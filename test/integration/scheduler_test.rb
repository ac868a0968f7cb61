# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# Waits of the standard library suspend one fiber, and the loop goes on.
class SchedulerTest < Minitest::Test
  APP = File.expand_path("../support/apps/loop.rb", __dir__)

  @server = ElahServer.start(APP)
  Minitest.after_run { @server.stop }

  class << self
    attr_reader :server
  end

  { mutex: "12", queue: "from a thread", thread: "joined", pipe: "piped", enumerator: "ab", timeout: "timed out" }
    .each do |wait, result|
    define_method(:"test_#{wait}") do
      answer = self.class.server.get("/wait/#{wait}")
      assert_equal [200, result], [answer.status, answer.body]
    end
  end

  def test_a_quick_request_is_answered_while_others_wait
    server = self.class.server
    server.connect do |slow|
      slow.write("GET /wait_for_word HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_equal "hello", server.get("/hello").body
      assert_equal "said", server.get("/say_word").body
      assert_equal "heard", slow.read_answer.body
    end
  end
end
