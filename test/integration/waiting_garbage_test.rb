# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/patience"

# A request that waits while Ruby collects garbage is forgotten when it has ended. Objects without write barriers
# would be kept until the next full collection, and bring it about. Ruby counts them.
class WaitingGarbageTest < Minitest::Test
  include Patience

  APP = <<~'RUBY'
    QUEUE = Thread::Queue.new

    class Waiting < Elah::API
      format :txt

      get(:wait) { QUEUE.pop }
      mount ->(env) { [200, {}, [QUEUE.pop]] } => "/rack"
      get(:waiting) { QUEUE.num_waiting.to_s }

      get :collect do
        4.times { GC.start(full_mark: false) } # what is old is marked in the fourth
        GC.stat(:remembered_wb_unprotected_objects).to_s
      end

      get :release do
        QUEUE.num_waiting.times { QUEUE << "done" }
        "released"
      end
    end

    run Waiting
  RUBY
  REQUESTS = 30
  ROUNDS = 9
  private_constant :APP, :REQUESTS, :ROUNDS

  def test_requests_that_have_waited_are_not_kept = assert_forgotten("/wait")
  def test_requests_of_a_rack_app_that_have_waited_are_not_kept = assert_forgotten("/rack")

  private

  # A full collection in between makes one difference negative.
  def assert_forgotten(path)
    ElahServer.start(APP) do |server|
      clients = Array.new(REQUESTS) { server.connect(seconds: 60) }
      kept = Array.new(ROUNDS) { objects_kept(server, clients, path) }
      differences = kept.each_cons(2).map { |before, after| after - before }
      assert_operator differences.sort[differences.size / 2], :<, REQUESTS / 2, kept.inspect
    ensure
      clients&.each(&:close)
    end
  end

  # @return [Integer] objects without write barriers that Ruby keeps until its next full collection, while requests wait
  def objects_kept(server, clients, path)
    clients.each { |client| client.write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n") }
    wait_until("all requests wait") { server.get("/waiting").body == REQUESTS.to_s }
    kept = Integer(server.get("/collect").body)
    server.get("/release")
    assert_equal ["done"] * REQUESTS, clients.map { |client| client.read_answer.body }
    kept
  end
end
