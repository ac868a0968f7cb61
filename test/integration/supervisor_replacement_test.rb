# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"
require "time"

# Workers that die, hang, grow too large or fail again and again: others take their places.
class SupervisorReplacementTest < Minitest::Test
  include SupervisedCase
  def test_only_the_requests_of_a_killed_worker_fail
    supervised do |server|
      killed, other = worker_pids(server)
      clients = []
      owners = []
      until owners.size >= 8 && owners.uniq.size == 2 # chance may give all to one worker
        clients << server.connect
        owners << clients.last.get("/pid").body.to_i
      end
      clients.each { |client| client.write(format(REQUEST, 400)) }
      wait_until("all run") { workers(server).sum { |worker| worker[:fibers] } == clients.size }
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

  def test_a_stopped_worker_is_replaced
    supervised(hang_seconds: 2) do |server|
      stopped = worker_pids(server).first
      Process.kill(:STOP, stopped)
      wait_for_workers(server, 2, besides: [stopped])
      assert_match(/Worker 0 \(process #{stopped}\) has not run its loop for \d\.\d s/, server.log)
      assert_equal 1, status(server).replaced[0][:hangs]
    end
  end

  def test_a_worker_whose_handler_holds_the_loop_is_replaced_and_the_log_has_the_line
    supervised(hang_seconds: 2) do |server|
      client = server.connect
      hanging = client.get("/pid").body.to_i
      client.write("GET /hold_the_loop HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_for_workers(server, 2, besides: [hanging])
      line = File.foreach(APP).with_index(1).find { |text, _| text.include?("the line that hangs") }.last
      assert_match(/A handler has blocked the loop.*apps\/workers\.rb:#{line}/m, server.log)
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
      assert_match(/\(process #{wedged}\) has started no request for \d\.\d s while some were waiting/, server.log)
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
      size = /uses \d{9} bytes \d+\.\d s after it was ready, more than worker_bytes_max \(120000000\)/
      assert_match(/\(process #{grown}\) #{size}: replacing it$/, server.log)
      assert_equal 1, status(server).replaced.values.sum { |reasons| reasons[:memory] }
    ensure
      client&.close
    end
  end

  READS_PAGES = File.read(APP).sub("get(:wedge)", <<~RUBY.chomp)
    get(:read) do
      store = Elah::Store.open("shop")
      pages = store.table("pages")
      150.times do |part|
        store.transaction { |tx| 200.times { |page| tx.put(pages, "\#{part} \#{page}", "v" * 3900) } }
      end
      count = 0
      pages.each(batch: 100) { count += 1 }
      count.to_s
    end
    get(:wedge)
  RUBY

  # Each page of a store that a worker had read counted as its memory, so it was replaced again and again.
  def test_pages_of_a_store_are_no_memory_of_a_worker
    supervised(READS_PAGES, worker_bytes_max: 100_000_000) do |server|
      client = server.connect
      reader = client.get("/pid").body.to_i
      assert_equal "30000", client.get("/read").body
      resident = -> { workers(server).find { |worker| worker[:pid] == reader }&.fetch(:rss_bytes) }
      wait_until("its resident memory is larger") { resident.call.to_i > 100_000_000 }
      killed = (worker_pids(server) - [reader]).fetch(0)
      Process.kill(:KILL, killed) # the supervisor has looked at all when this one is replaced
      wait_for_workers(server, 2, besides: [killed])
      assert_includes worker_pids(server), reader
      assert_equal 0, status(server).replaced.values.sum { |reasons| reasons[:memory] }
    ensure
      client&.close
    end
  end

  # The log said that it had not booted within boot_seconds.
  def test_a_replacement_that_exits_is_said_to_have_exited
    config = "before_worker_boot { raise 'broken now' if File.exist?(BROKEN) }"
    supervised_with_config(config, worker_bytes_max: 120_000_000) do |server, broken|
      File.write(broken, "")
      server.get("/grow/150000000")
      reason = /did not boot: exit 1\. See the log above for the reason; Worker \d .* stays/
      server.wait_for(/Worker \d \(process \d+\) #{reason}/)
      refute_match(/within 60/, server.log)
    end
  end

  # Two workers were replaced 130 times in eight seconds, and the log did not say how large they were.
  def test_workers_that_are_too_large_from_the_beginning_are_replaced_less_and_less_often
    supervised(worker_bytes_max: 1_000_000) do |server|
      size = /uses \d{8} bytes \d+\.\d s after it was ready, more than worker_bytes_max \(1000000\)/
      server.wait_for(/#{size}: replacing it in 0\.4 s/)
      assert_match(/ in 0\.4 s\. If a fresh worker needs so much, set worker_bytes_max above it$/, server.log)
      assert_equal "hello", server.get("/").body
    end
  end

  # The large worker's replacements failed one after the other without a pause.
  def test_replacements_that_do_not_boot_are_started_less_and_less_often
    config = "before_worker_boot { raise 'broken now' if File.exist?(BROKEN) }"
    supervised_with_config(config, worker_bytes_max: 120_000_000) do |server, broken|
      File.write(broken, "")
      server.get("/grow/150000000")
      server.wait_for(/(did not boot.*){4}/m)
      third, fourth = server.log.scan(/^(\S+) .* did not boot/).flatten[2..3].map { |time| Time.iso8601(time) }
      assert_operator fourth - third, :>=, 0.8
    end
  end

  # One that had drained before its replacement was there was counted twice.
  def test_a_worker_that_is_replaced_after_a_term_of_its_own_counts_once
    app = <<~RUBY
      GATE = Elah.settings["gate"]
      Elah::EventLoop.prepend(Module.new { def take_row(*) = (sleep 0.01 while File.exist?(GATE)) || super })
      class Held < Elah::API
        format :txt
        get(:pid) { Process.pid.to_s }
        get(:held) { sleep 0.01 until File.exist?("\#{GATE}.end") }
      end
      run Held
    RUBY
    supervised_with_config("set :gate, BROKEN", app) do |server, waits|
      client = server.connect
      leaving = client.get("/pid").body.to_i
      client.write("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until("it runs") { workers(server).sum { |worker| worker[:fibers] } == 1 }
      File.write(waits, "")
      Process.kill(:TERM, leaving)
      children = -> { File.read("/proc/#{server.pid}/task/#{server.pid}/children").split.size }
      wait_until("its replacement boots") { children.call == 3 }
      File.write("#{waits}.end", "")
      wait_until("it has ended") { children.call == 2 }
      File.delete(waits)
      wait_for_workers(server, 2, besides: [leaving])
      server.wait_for(/is ready.*is ready.*is ready/m)
      assert_equal 1, status(server).replaced.sum { |_, reasons| reasons[:restarts] }
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

  def test_a_worker_that_exits_is_replaced
    supervised do |server|
      pids = worker_pids(server)
      server.connect { |client| client.write("GET /exit/7 HTTP/1.1\r\nHost: a\r\n\r\n") && client.read_to_end }
      server.wait_for(/exited: exit 7\. Starting another one/)
      wait_until("two serve") { worker_pids(server).size == 2 && worker_pids(server) != pids }
    end
  end

  def test_a_worker_that_fails_again_and_again_is_started_less_and_less_often
    supervised_with_config("before_worker_boot { raise 'broken now' if File.exist?(BROKEN) }") do |server, broken|
      File.write(broken, "")
      Process.kill(:KILL, worker_pids(server).first)
      server.wait_for(/Failure 3 in a row: starting another one in 0\.4 s/)
      assert_equal "hello", server.get("/").body
      File.unlink(broken)
      wait_for_workers(server, 2)
    end
  end

  private

  def fate(client)
    client.read_answer.body
  rescue HttpClient::Closed
    :lost
  end

  # Nothing when half a second had passed before the request was sent.
  def answer_of(client)
    client.get("/")
  rescue SystemCallError, HttpClient::Closed
    nil
  end
end
