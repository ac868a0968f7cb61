# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# Several workers under one supervisor: they share the sockets, and one that dies, hangs or grows too large is replaced.
class SupervisorTest < Minitest::Test
  include SupervisedCase

  REQUEST = "GET /sleep/%d HTTP/1.1\r\nHost: test.example\r\n\r\n"

  def test_connections_spread_over_the_workers
    supervised do |server|
      clients = Array.new(64) { server.connect }
      pids = clients.map { |client| client.get("/pid").body.to_i }
      assert_equal worker_pids(server).sort, pids.uniq.sort
      assert_operator pids.tally.values.min, :>=, 8, "one worker has most connections: #{pids.tally}"
    ensure
      clients&.each(&:close)
    end
  end

  def test_every_worker_knows_its_place
    supervised(workers: 3) do |server|
      places = Hash.new { |known, pid| known[pid] = nil }
      clients = []
      wait_until("all three have answered") do
        clients << server.connect
        places[clients.last.get("/placement").body.split.map(&:to_i)]
        places.size == 3
      end
      assert_equal([0, 1, 2], places.keys.map(&:first).sort)
      assert_equal([3], places.keys.map { |place| place[1] }.uniq)
      assert_equal(3, places.keys.map(&:last).uniq.size)
      assert_equal([85, 85, 86], workers(server).map { |worker| worker[:shards] }.sort)
    ensure
      clients&.each(&:close)
    end
  end

  # Puma 5.6.5 resets six of these sixteen.
  def test_term_answers_what_runs_and_what_waits
    server = supervised(fibers_max: 4, queue_seconds: 20)
    clients = Array.new(16) { HttpClient.new(server.url, seconds: 20) }
    clients.each { |client| client.write(format(REQUEST, 300)) }
    server.signal(:TERM)
    answers = clients.map(&:read_answer)
    assert_equal [[200, "slept", "close"]], answers.map { |answer| [answer.status, answer.body, answer["connection"]] }.uniq
    assert_predicate server.wait_until_ended, :success?
    assert_raises(Errno::ECONNREFUSED) { HttpClient.new(server.url) }
    refute_path_exists run_dir(server).path
  ensure
    server&.kill
  end

  def test_only_the_requests_of_a_killed_worker_fail
    supervised do |server|
      killed, other = worker_pids(server)
      clients = Array.new(8) { server.connect }
      owners = clients.map { |client| client.get("/pid").body.to_i }
      clients.each { |client| client.write(format(REQUEST, 400)) }
      wait_until("all run") { workers(server).sum { |worker| worker[:fibers] } == 8 }
      Process.kill(:KILL, killed)
      assert_equal "hello", server.get("/").body
      fates = clients.zip(owners).map { |client, owner| [owner, fate(client)] }.uniq
      assert_equal [[killed, :lost], [other, "slept"]].sort_by(&:first), fates.sort_by(&:first)
      wait_for_workers(server, 2, besides: [killed])
      assert_includes worker_pids(server), other
      assert_equal 1, status(server).replaced[0][:crashes]
    ensure
      clients&.each(&:close)
    end
  end

  def fate(client)
    client.read_answer.body
  rescue HttpClient::Closed
    :lost
  end

  # A connection that no worker has accepted yet belongs to all of them.
  def test_connections_that_wait_survive_every_worker
    supervised do |server|
      pids = worker_pids(server)
      pids.each { |pid| Process.kill(:STOP, pid) }
      clients = Array.new(8) { server.connect.write(format(REQUEST, 1)) }
      pids.each { |pid| Process.kill(:KILL, pid) }
      assert_equal ["slept"], clients.map { |client| client.read_answer.body }.uniq
    ensure
      clients&.each(&:close)
    end
  end

  def test_a_stopped_worker_is_replaced
    supervised(hang_seconds: 2) do |server|
      stopped = worker_pids(server).first
      Process.kill(:STOP, stopped)
      wait_for_workers(server, 2, besides: [stopped])
      assert_match(/Worker 0 \(process #{stopped}\) has not turned its loop for \d\.\d s/, server.log)
      assert_equal 1, status(server).replaced[0][:hangs]
    end
  end

  def test_a_worker_whose_handler_holds_the_loop_is_replaced_and_the_log_has_the_line
    supervised(hang_seconds: 2) do |server|
      client = server.connect
      hanging = client.get("/pid").body.to_i
      client.write("GET /hold_the_loop HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_for_workers(server, 2, besides: [hanging])
      assert_match(/A handler has held the loop.*apps\/workers\.rb:29/m, server.log)
      assert_equal "hello", server.get("/").body
    ensure
      client&.close
    end
  end

  # Its heart beats, so it is judged by what it serves.
  def test_a_worker_that_turns_its_loop_and_begins_no_request_is_replaced
    supervised(hang_seconds: 2) do |server|
      client = server.connect
      wedged = client.get("/pid").body.to_i
      assert_equal "wedged", client.get("/wedge").body
      client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_for_workers(server, 2, besides: [wedged])
      assert_match(/\(process #{wedged}\) has begun no request for \d\.\d s while some waited/, server.log)
    ensure
      client&.close
    end
  end

  def test_a_worker_that_has_grown_too_large_is_replaced_without_losing_a_request
    supervised(worker_bytes_max: 120_000_000) do |server|
      client = server.connect
      grown = client.get("/pid").body.to_i
      client.get("/grow/150000000")
      counts = traffic(server) { wait_for_workers(server, 2, besides: [grown]) }
      assert_empty counts.failures
      assert_match(/\(process #{grown}\) holds more than 120000000 bytes/, server.log)
      assert_equal 1, status(server).replaced.values.sum { |reasons| reasons[:memory] }
    ensure
      client&.close
    end
  end

  # It was closed at once: of 66,000 requests of wrk during three restarts 43 met a close on their way.
  def test_a_kept_connection_of_a_worker_that_leaves_has_one_more_answer
    supervised do |server|
      wait_until("the next request is answered as the last") do
        client = server.connect
        leaving = client.get("/pid").body.to_i
        Process.kill(:TERM, leaving)
        wait_until("it drains") { worker_pids(server).none?(leaving) }
        answer = answer_of(client)
        wait_for_workers(server, 2, besides: [leaving])
        answer && answer["connection"] == "close"
      ensure
        client&.close
      end
    end
  end

  # Nothing when half a second had passed before the request was sent.
  def answer_of(client)
    client.get("/")
  rescue SystemCallError, HttpClient::Closed
    nil
  end

  def test_a_worker_that_exits_is_replaced
    supervised do |server|
      pids = worker_pids(server)
      server.connect { |client| client.write("GET /exit/7 HTTP/1.1\r\nHost: a\r\n\r\n") && client.read_to_end }
      server.wait_for(/ended: exit 7\. Another one is started/)
      wait_until("two serve") { worker_pids(server).size == 2 && worker_pids(server) != pids }
    end
  end

  def test_workers_come_and_go_and_shards_with_them
    supervised do |server|
      server.signal(:TTIN)
      wait_for_workers(server, 3)
      wait_until("the third has its shards") { workers(server).map { |worker| worker[:shards] }.sort == [85, 85, 86] }
      # Two at once may arrive as one.
      server.signal(:TTOU)
      server.wait_for(/There are 2 workers/)
      server.signal(:TTOU)
      server.wait_for(/There are 1 workers/)
      wait_for_workers(server, 1)
      assert_equal([256], workers(server).map { |worker| worker[:shards] })
      server.signal(:TTOU)
      server.wait_for(/There is one worker; it stays/)
      assert_equal "hello", server.get("/").body
    end
  end

  def test_what_a_worker_hands_over_is_handed_over_before_others_own_it
    app = <<~RUBY
      class Api < Elah::API
        get("/") { "hello" }
      end
      run Api
    RUBY
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, <<~RUBY)
        before_worker_boot do
          place = Elah::Placement.current
          place.before_release do |shards|
            sleep 0.05
            owners = shards.map { |shard| place.owner_of(shard) }.uniq
            $stderr.puts "slot \#{place.slot} hands \#{shards.size} shards over, owned by \#{owners.inspect}"
          end
        end
      RUBY
      supervised(app, config: file) do |server|
        server.signal(:TTIN)
        assert_equal([["0", "[0]"], ["1", "[1]"]], Array.new(2) { |slot| server.wait_for(/slot (#{slot}) hands 4[23] shards over, owned by (.*)$/).captures })
      end
    end
  end

  def test_a_worker_that_does_not_hand_over_in_time_loses_its_shards
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, "before_worker_boot { Elah::Placement.current.before_release { sleep } }")
      supervised(config: file, handover_seconds: 0.1) do |server|
        server.signal(:TTOU)
        server.wait_for(/did not hand over within 0\.1 s/)
        wait_for_workers(server, 1)
        assert_equal 256, workers(server).first[:shards]
      end
    end
  end

  def test_a_second_int_ends_at_once
    server = supervised
    client = server.connect.write(format(REQUEST, 60_000))
    wait_until("it runs") { workers(server).sum { |worker| worker[:fibers] } == 1 }
    server.signal(:INT)
    server.wait_for(/INT: 2 workers drain/)
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
    assert_match(/1 requests did not end within 0\.2 s/, server.log)
  ensure
    client&.close
    server&.kill
  end

  def test_workers_end_when_their_supervisor_is_killed_and_the_next_start_works
    server = supervised
    pids = worker_pids(server)
    Process.kill(:KILL, server.pid)
    server.wait_until_ended
    wait_until("the workers have ended") { pids.none? { |pid| File.exist?("/proc/#{pid}") } }
    folder = run_dir(server).path
    assert_path_exists folder
    supervised(bind: server.url, run_dir: File.dirname(folder)) do |next_server|
      assert_equal "hello", next_server.get("/").body
      refute_path_exists folder, "what a dead server has left is removed"
    end
  ensure
    server&.kill
  end

  def test_an_app_whose_workers_never_boot_ends_the_server
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, "before_worker_boot { raise 'no database' }")
      error = assert_raises(ElahServer::Failure) { supervised(config: file) }
      assert_match(/Worker \d failed: RuntimeError: no database/, error.message)
      assert_match(/elah: Worker \d did not boot: exit 1\. The log has the reason\./, error.message)
    end
  end

  def test_a_worker_that_fails_again_and_again_is_started_less_and_less_often
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, "before_worker_boot { raise 'broken now' if File.exist?(#{File.join(folder, 'broken').inspect}) }")
      supervised(config: file) do |server|
        File.write(File.join(folder, "broken"), "")
        Process.kill(:KILL, worker_pids(server).first)
        server.wait_for(/failure 3 in a row: another one is started in 0\.4 s/)
        assert_equal "hello", server.get("/").body
        File.unlink(File.join(folder, "broken"))
        wait_for_workers(server, 2)
      end
    end
  end

  def test_hooks_run_where_they_belong
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, <<~RUBY)
        supervisor = Process.pid
        before_fork { $stderr.puts "before fork: \#{Process.pid == supervisor}" }
        before_worker_boot { $stderr.puts "boot: \#{Process.ppid == supervisor}" }
        after_worker_exit { |slot, status| $stderr.puts "after exit: \#{slot} \#{status.termsig}" }
      RUBY
      supervised(config: file) do |server|
        assert_equal(["before fork: true"] * 2 + ["boot: true"] * 2, server.log.lines(chomp: true).grep(/\A(before|boot)/).sort)
        Process.kill(:KILL, worker_pids(server).last)
        server.wait_for(/after exit: 1 9/)
      end
    end
  end

  def test_hooks_that_fail_do_not_end_a_server_that_serves
    Dir.mktmpdir do |folder|
      file = File.join(folder, "config.rb")
      File.write(file, <<~RUBY)
        before_fork { raise "not now" if File.exist?(#{File.join(folder, 'broken').inspect}) }
        after_worker_exit { raise "nor then" }
      RUBY
      supervised(config: file, boot_seconds: 1) do |server|
        File.write(File.join(folder, "broken"), "")
        Process.kill(:KILL, worker_pids(server).first)
        server.wait_for(/after_worker_exit block failed: RuntimeError: nor then.*Worker 0 was not started: RuntimeError: not now/m)
        server.signal(:TTIN)
        server.wait_for(/Worker 2 did not come up: there are still 2 workers/)
        File.unlink(File.join(folder, "broken"))
        wait_for_workers(server, 2)
        assert_equal "hello", server.get("/").body
      end
    end
  end

  # With few descriptors a server is alive and dead at once if it never tries again.
  def test_it_serves_again_after_descriptors_ran_out
    supervised do |server|
      worker_pids(server).each { |pid| limit_descriptors(pid, 40) }
      idle = Array.new(150) { server.connect }
      idle.each(&:close)
      assert_equal "hello", server.get("/").body
      assert_equal 2, worker_pids(server).size
    end
  end

  def limit_descriptors(pid, count) = assert(system("prlimit", "--pid", pid.to_s, "--nofile=#{count}:#{count}"))

  # A supervisor has opened nothing yet that a fork would break: a store that the app uses while it is loaded is opened anew.
  def test_a_store_that_was_used_before_the_fork_works_in_every_worker
    app = <<~RUBY
      STORE = Elah::Store.open("store")
      VISITS = STORE.counter("visits")
      VISITS.increment("loaded")
      class Api < Elah::API
        get("/") { VISITS.increment("all").to_s }
        get("/loaded") { VISITS.get("loaded").to_s }
      end
      run Api
    RUBY
    supervised(app) do |server|
      clients = Array.new(8) { server.connect }
      counts = clients.flat_map { |client| Array.new(5) { client.get("/").body.to_i } }
      assert_equal (1..40).to_a, counts.sort
      assert_equal "1", server.get("/loaded").body
    ensure
      clients&.each(&:close)
    end
  end
end
