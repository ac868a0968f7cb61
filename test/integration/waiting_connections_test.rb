# frozen_string_literal: true

# What a connection costs while its request waits in the handler.
require "test_helper"
require "support/elah_server"
require "support/process_memory"

class WaitingConnectionsTest < Minitest::Test
  # Five pages: the fiber's two stacks, its frames and hyper's two buffers, of which a short head touches one page each;
  # and 4 KB of all else. On Ruby 3.4 it is about 27,100 bytes in all.
  BYTES_MAX = RUBY_VERSION < "3.4" ? 27_000 : 27_500
  COUNT = 400

  APP = <<~RUBY
    class Waiting < Elah::API
      GATE = Thread::Queue.new
      WAITING = []
      get(:wait) { WAITING << 1; GATE.pop }
      get(:waiting) { WAITING.size.to_s }
      get(:go) { GATE.close; "gone" }
    end
    run Waiting
  RUBY

  def test_a_waiting_request_costs_few_pages
    ElahServer.start(APP) do |server|
      wait_with(server, 50) # what the first fibers cost, they cost once
      before = ProcessMemory.resident_bytes(server.pid)
      wait_with(server, COUNT)
      each = (ProcessMemory.resident_bytes(server.pid) - before) / COUNT
      assert_operator each, :<, BYTES_MAX
      assert_equal "gone", server.get("/go").body
      @clients.each { |client| assert_equal 200, client.read_answer.status }
    ensure
      @clients&.each(&:close)
    end
  end

  private

  # Sends `count` more requests that wait, and returns when all of them do.
  def wait_with(server, count)
    @clients ||= []
    @clients += Array.new(count) do
      HttpClient.open(server.url).write("GET /wait HTTP/1.1\r\nHost: test.example\r\n\r\n")
    end
    Thread.pass until server.get("/waiting").body == @clients.size.to_s
  end
end
