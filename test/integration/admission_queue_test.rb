# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# Clients that leave a full line, at a gate or for a fiber.
class AdmissionQueueTest < Minitest::Test
  include SupervisedCase

  APP = File.expand_path("../support/apps/gates.rb", __dir__)

  # They were counted until their time was over: others got a 503, "1 requests run and 2 wait", though nobody waited.
  def test_clients_that_leave_the_line_at_a_gate_make_room = assert_room("/short/slow/60000", "/short/slow/1")

  def test_clients_that_leave_the_line_for_a_fiber_make_room
    assert_room("/narrow/slow/60000", "/free", fibers_max: 1, queue_max: 2, queue_seconds: 60)
  end

  private

  # @param holding [String] path of the request that the others wait for
  # @param quick [String] path of the others
  def assert_room(holding, quick, **options)
    ElahServer.start(APP, **options) do |server|
      holder = send_get(server, holding)
      wait_until("it runs") { counts(server)[:fibers] == 1 }
      waiting = Array.new(2) { send_get(server, quick) }
      wait_until("both wait") { counts(server)[:waiting_requests] == 2 }
      waiting.each { |client| reset(client) }
      wait_until("both have left") { counts(server)[:waiting_requests].zero? }
      last = send_get(server, quick)
      wait_until("it waits") { counts(server)[:waiting_requests] == 1 }
      reset(holder)
      assert_equal 200, last.read_answer.status
    ensure
      last&.close
    end
  end

  def send_get(server, path) = server.connect.write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n")

  def reset(client)
    client.socket.setsockopt(Socket::Option.linger(true, 0))
    client.close
  end

  def counts(server) = status(server).workers.first
end
