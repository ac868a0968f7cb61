# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# Restarts that requests, trial runs or the new configuration stand in the way of.
class RestartBadDaysTest < Minitest::Test
  include SupervisedCase

  SLOW = <<~RUBY
    class Api < Elah::API
      get("/") { "served" }
      get("/long") { sleep }
      get("/computing") do
        sleep 0.01 until File.exist?("drains")
        loop { 1 }
      end
    end
    run Api
  RUBY

  # The server exited with status 75, so that one client could make an outage of each restart.
  def test_one_process_restarts_although_a_request_waits_longer_than_its_drain
    with_request_during_restart("/long", drain_seconds: 0.5) do |server, client|
      assert_equal [503, "server_stopped"], client.read_answer.then { |answer| [answer.status, answer.body[/server_stopped/]] }
      assert_restarted(server)
    end
  end

  def test_one_process_restarts_although_a_request_computes_longer_than_its_drain
    with_request_during_restart("/computing", drain_seconds: 1) do |server, _client|
      wait_until("it drains") { status(server).workers.first[:state] == :draining }
      File.write(File.join(server.folder, "drains"), "")
      assert_restarted(server)
    end
  end

  private

  def with_request_during_restart(path, **options)
    ElahServer.start(SLOW, **options) do |server|
      client = server.connect.write("GET #{path} HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until("it runs") { workers(server).sum { |worker| worker[:fibers] } == 1 }
      server.signal(:HUP)
      yield server, client
    ensure
      client&.close
    end
  end

  def assert_restarted(server)
    server.wait_for(/(listening on.*){2}/m)
    assert_equal "served", server.get("/").body
    server.signal(:TERM)
    assert_predicate server.wait_until_ended, :success?
  end
end
