# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# How a server with several workers ends, asked or not.
class SupervisorEndTest < Minitest::Test
  include SupervisedCase
  # Puma 5.6.5 resets six of these sixteen.
  def test_term_answers_what_runs_and_what_waits
    server = supervised(fibers_max: 4, queue_seconds: 60)
    clients = Array.new(16) { HttpClient.new(server.url) }
    clients.each { |client| client.write(format(REQUEST, 300)) }
    server.signal(:TERM)
    answers = clients.map(&:read_answer)
    assert_equal [[200, "slept", "close"]],
                 answers.map { |answer| [answer.status, answer.body, answer["connection"]] }.uniq
    assert_predicate server.wait_until_ended, :success?
    assert_raises(Errno::ECONNREFUSED) { HttpClient.new(server.url) }
    refute_path_exists run_dir(server).path
  ensure
    server&.kill
  end

  def test_a_second_int_ends_at_once
    server = supervised
    client = server.connect.write(format(REQUEST, 60_000))
    wait_until("it runs") { workers(server).sum { |worker| worker[:fibers] } == 1 }
    server.signal(:INT)
    server.wait_for(/INT: draining 2 workers/)
    server.signal(:INT)
    assert_equal 75, server.wait_until_ended.exitstatus
  ensure
    client&.close
    server&.kill
  end

  def test_requests_that_outlive_the_drain_are_given_up
    server = supervised(drain_seconds: 0.2)
    client = server.connect.write(format(REQUEST, 60_000))
    wait_until("it runs") { workers(server).sum { |worker| worker[:fibers] } == 1 }
    server.signal(:TERM)
    assert_equal 75, server.wait_until_ended.exitstatus
    assert_match(/The drain took longer than 0\.2 s: abandoning 1 open requests, exit status 75/, server.log)
  ensure
    client&.close
    server&.kill
  end

  def test_workers_end_when_their_supervisor_is_killed_and_the_next_start_works
    server = supervised
    pids = worker_pids(server)
    Process.kill(:KILL, server.pid)
    server.wait_until_ended
    wait_until("the workers have ended") { pids.none? { |pid| File.exist?("/proc/#{pid}/exe") } }
    folder = run_dir(server).path
    assert_path_exists folder
    supervised(bind: server.url, run_dir: File.dirname(folder)) do |next_server|
      assert_equal "hello", next_server.get("/").body
      refute_path_exists folder, "what a dead server has left is removed"
    end
  ensure
    server&.kill
  end

  # The sockets are closed by then, so it would be said to listen nowhere.
  def test_a_server_that_is_stopped_while_it_boots_is_not_said_to_listen
    Dir.mktmpdir do |folder|
      gate, config, log = %w[gate config.rb log].map { |name| File.join(folder, name) }
      File.write(config, <<~RUBY)
        before_worker_boot do
          File.write(File.join(__dir__, "boots-\#{Process.pid}"), "")
          sleep 0.01 until File.exist?(#{gate.dump})
        end
      RUBY
      command = [ElahServer::EXECUTABLE, "serve", APP, "--config", config, "--workers", "2",
                 "--bind", "tcp://127.0.0.1:0", "--data", folder, "--run-dir", folder]
      pid = spawn(*command, %i[out err] => log)
      wait_until("both workers boot") { Dir[File.join(folder, "boots-*")].size == 2 }
      Process.kill(:TERM, pid)
      wait_until("it stops") { File.read(log).include?("TERM: draining 2 workers") }
      File.write(gate, "")
      assert_predicate Process.wait2(pid).last, :success?, File.read(log)
      refute_includes File.read(log), "listening on"
    end
  end

  BOOTS = "before_worker_boot { warn('a worker boots') && sleep(0.01) while File.exist?(BROKEN) }"

  # All waited for it for drain_seconds, and the server ended with 75.
  def test_a_stop_does_not_wait_for_a_worker_that_boots
    with_booting_worker do |server|
      server.signal(:TERM)
      assert_predicate server.wait_until_ended, :success?
    end
  end

  # What a worker begins with: the supervisor's handlers, which noted the signal in the worker's own copy. It came once.
  def test_a_stop_ends_a_worker_that_has_just_been_forked
    config = <<~RUBY
      require "elah/server/supervisor"
      Elah::Supervisor::Signals.prepend(Module.new do
        def leave_to_supervisor
          if File.exist?(BROKEN)
            warn "a worker begins"
            sleep 0.01 until @noted.include?("TERM")
          end
          super
        end
      end)
      #{BOOTS}
    RUBY
    supervised_with_config(config, drain_seconds: 3600) do |server, broken|
      File.write(broken, "")
      server.signal(:TTIN)
      server.wait_for(/a worker begins/)
      server.signal(:TERM)
      assert_predicate server.wait_until_ended, :success?
    end
  end

  # It drained, but was never told that all stop, and all waited for it for drain_seconds.
  def test_a_worker_that_is_ready_and_not_known_to_be_so_stops
    app = File.expand_path("../support/apps/accounts.rb", __dir__)
    with_booting_worker(app) do |server, broken|
      Process.kill(:STOP, server.pid)
      File.delete(broken)
      wait_until("it is ready") { workers(server).size == 2 }
      Process.kill(:TERM, server.pid)
      Process.kill(:CONT, server.pid)
      assert_predicate server.wait_until_ended, :success?
    end
  end

  # A server with a worker that serves and one that boots as long as a file is there.
  def with_booting_worker(app = APP)
    supervised_with_config(BOOTS, app, drain_seconds: 3600) do |server, broken|
      File.write(broken, "")
      Process.kill(:KILL, worker_pids(server).last)
      server.wait_for(/a worker boots/)
      yield server, broken
    end
  end

  def test_an_app_whose_workers_never_boot_ends_the_server
    error = assert_raises(ElahServer::Failure) do
      supervised_with_config("before_worker_boot { raise 'no database' }") { flunk }
    end
    assert_match(/Worker \d failed: RuntimeError: no database/, error.message)
    assert_match(/elah: Worker \d did not boot: exit 1\. See the log above for the reason\./, error.message)
  end
end
