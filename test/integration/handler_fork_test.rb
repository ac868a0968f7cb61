# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/patience"

# A fork that a handler makes costs its parent nothing, wherever it goes on. One that left its handler took the parent's
# connections out of the selector that both share: the server was there, and answered nobody any more.
class HandlerForkTest < Minitest::Test
  include Patience

  APP = <<~'RUBY'
    class App < Elah::API
      format :txt

      helpers do
        def status_of(pid) = Process.wait2(pid).last.then { |status| (status.exitstatus || status.termsig).to_s }
      end

      get(:hello) { "hello" }
      get(:exits) do
        pid = fork or exit(7)
        status_of(pid)
      end
      get(:returns) { (pid = fork) ? status_of(pid) : "child" }
      get(:raises) { (pid = fork) ? status_of(pid) : raise("boom") }
      get(:exits_in_a_fiber) do
        Elah.async do
          pid = fork or exit(7)
          status_of(pid)
        end.value
      end
      get(:waits) do
        pid = fork do
          sleep(0.01)
          Thread.new { sleep(0.01) }.join
          exit!(Elah.run { Elah.async { sleep(0.01)  && 5 }.value })
        end
        status_of(pid)
      end
      get(:leaves_an_offload) { Elah.offload { (pid = fork) ? status_of(pid) : "child" } }
      get(:exits_in_an_offload) { Elah.offload { (pid = fork) ? status_of(pid) : exit(7) } }
      get(:leaves_a_thread) { Thread.new { status_of(fork || Thread.exit) }.value }
      get(:outlives) { fork { sleep }.to_s }
      get(:outlives_in_a_thread) { Thread.new { fork { sleep } }.value.to_s }
      get(:outlives_in_an_offload) { Elah.offload { fork { sleep } }.to_s }
      get(:is_terminated) { status_of(fork { Process.kill(:TERM, Process.pid) && sleep }) }
      get(:is_terminated_in_a_thread) do
        Thread.new { status_of(fork { Process.kill(:TERM, Process.pid) && sleep }) }.value
      end
    end

    run App
  RUBY

  # Each with the status of the fork.
  STATUSES = { "exits" => "7", "returns" => "1", "raises" => "1", "exits_in_a_fiber" => "7", "waits" => "5",
               "is_terminated" => "15", "is_terminated_in_a_thread" => "15", "leaves_an_offload" => "1",
               "exits_in_an_offload" => "7", "leaves_a_thread" => "0" }.freeze

  def test_a_fork_ends_alone
    ElahServer.start(APP) do |server|
      STATUSES.each do |path, status|
        assert_equal [path, status], [path, server.get("/#{path}").body]
        assert_equal "hello", server.get("/hello").body, "after #{path}"
        assert_path_exists File.join(server.folder, "run", server.pid.to_s, "scoreboard")
      end
      assert_equal 3, server.log.scan(/ERROR .*A fork left the block that made it and ends with status 1/).size
      assert_match(/end the fork with exit!\. RuntimeError: boom$/, server.log)
      refute_match(/only this request fails|belongs to the parent/, server.log)
    end
  end

  # A fork that held the listening socket kept the port: clients connected to nobody, and the next server could not
  # start.
  def test_a_fork_that_outlives_the_server_does_not_listen
    [1, 2].product(%w[outlives outlives_in_a_thread outlives_in_an_offload]) do |workers, path|
      server = ElahServer.start(APP, workers: workers)
      child = Integer(server.get("/#{path}").body)
      assert_equal "hello", server.get("/hello").body
      Process.kill(:TERM, server.pid)
      wait_until("the server has ended") { server.ended? }
      # The fork leaves the socket as it begins, which may be after its parent has answered.
      wait_until("nobody listens") { refused?(server.port) }
    ensure
      Process.kill(:KILL, child) if child
      server&.kill
    end
  end

  private

  def refused?(port)
    TCPSocket.new("127.0.0.1", port).close
    false
  rescue Errno::ECONNREFUSED
    true
  end
end
