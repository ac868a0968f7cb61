# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# The order in which a worker ends: requests, the fibers that the app has started, hooks, sinks.
class WorkerEndTest < Minitest::Test
  include SupervisedCase

  CONFIG = <<~'RUBY'
    before_worker_boot do
      Elah.async do
        sleep
      ensure
        3.times { sleep(0.01) }
        warn "the fiber of the boot has ended"
      end
    end
    before_worker_shutdown do
      LATE << { at: "hook" } if defined?(LATE)
      warn "the hook runs"
    end
  RUBY

  APP = <<~'RUBY'
    LATE = Elah::Sink.new("late") { |events| sleep }

    class App < Elah::API
      format :txt
      get(:waits) { [warn("waits"), sleep] }
      get(:shielded) do
        Elah.async(detached: true) { Elah.shield { [warn("charged"), sleep(0.3), warn("recorded")] } }
        "begun"
      end
      get(:repeats) do
        Elah.every(0.001, detached: true) { Elah.shield { [warn("charged"), sleep(0.3), warn("recorded")] } }
        sleep(0.1)
        "begun"
      end
      get(:gathers) do
        Elah.async(detached: true) do
          Elah.shield do
            warn("charged")
            Elah.gather { |both| 2.times { |number| both.call(number) { sleep(0.3) } } }.to_h
            warn("recorded")
          end
        end
        "begun"
      end
      get(:offloads) do
        Elah.async(detached: true) do
          Elah.offload { Elah.shield { [warn("charged"), sleep(0.3), warn("recorded")] } }
        end
        "begun"
      end
      get(:asks) do
        asked = Thread::Queue.new
        Elah.async(detached: true) { loop { asked.pop << sleep(0.05) } }
        Elah.async(detached: true) do
          Elah.shield do
            warn("charged")
            asked << (reply = Thread::Queue.new)
            reply.pop
            warn("recorded")
          end
        end
        "begun"
      end
      get(:outlives_in_a_thread) do
        Elah.async(detached: true) { Elah.offload { Elah.shield { warn("outlives") || sleep } } }
        "begun"
      end
      get(:children) do
        Elah.async(detached: true) do
          Array.new(2) do
            Elah.async do
              warn("charged") || sleep
            ensure
              sleep(0.05)
              warn("recorded")
            end
          end.each(&:wait)
        end
        "begun"
      end
      get(:outlives) do
        Elah.async(detached: true) { Elah.shield { warn("outlives") || sleep } }
        "begun"
      end
      get(:continues) do
        Elah.async(detached: true) do
          loop do
            sleep
          rescue StandardError => e
            warn "rescued #{e.message}"
          end
        end
        "begun"
      end
      get(:pushes) do
        Elah.async(detached: true) do
          sleep
        ensure
          LATE << { at: "background" }
        end
        "begun"
      end
      get(:abandoned) do
        warn "began to wait"
        sleep
      ensure
        LATE << { at: "request" }
      end
    end

    at_exit { LATE << { at: "exit" } }
    run App
  RUBY

  # It was cut after 3 ms, and the exit status was 0: charged and never recorded, at each deploy. Then it was the fibers
  # that a shielded block waits for, and the `ensure` blocks of those that end with the fiber that has started them.
  %w[shielded repeats gathers children offloads asks].each do |kind|
    [1, 2].each do |workers|
      define_method(:"test_what_must_not_be_cut_is_completed_if_it_is_#{kind}_with_#{workers}") do
        server = started(workers: workers)
        assert_equal "begun", server.get("/#{kind}").body
        server.wait_for(/^charged$/)
        server.signal(:TERM)
        assert_equal 0, server.wait_until_ended.exitstatus
        assert_equal server.log.scan(/^charged$/).size, server.log.scan(/^recorded$/).size
      ensure
        server&.kill
      end
    end
  end

  # It was left at its first wait, and the hook closed what it used.
  def test_an_ensure_block_that_waits_comes_to_its_end_before_the_hooks_run
    [1, 2].each do |workers|
      server = started(workers: workers)
      server.signal(:TERM)
      assert_equal 0, server.wait_until_ended.exitstatus
      lines = server.log.lines.map(&:chomp)
      kept = lines.grep(/^the (hook runs|fiber of the boot has ended)$/)
      assert_equal ["the fiber of the boot has ended", "the hook runs"], workers == 1 ? kept : kept.uniq
      assert_equal 2 * workers, kept.size
    ensure
      server&.kill
    end
  end

  # One in a thread took the end of the thread for its own cancellation: the process never exited.
  %w[outlives outlives_in_a_thread].each do |kind|
    define_method(:"test_what_#{kind}_is_cut_when_the_time_for_the_drain_is_over_and_the_log_names_it") do
      server = started(drain_seconds: 0.5)
      server.get("/#{kind}")
      server.wait_for(/^outlives$/)
      server.signal(:TERM)
      assert_equal 75, server.wait_until_ended.exitstatus
      told = server.log.lines.grep(/background fibers/)
      assert_equal 1, told.size, server.log
      late = /The drain took longer than 0\.5 s: abandoning 0 open requests/
      assert_match(/#{late} and 2 background fibers \(\S+\.rb:\d+/, told.first)
    ensure
      server&.kill
    end
  end

  # With an open request the log did not name them.
  def test_the_log_names_what_is_cut_beside_an_open_request
    server = started(drain_seconds: 0.5)
    client = server.connect
    server.get("/outlives")
    client.write("GET /waits HTTP/1.1\r\nHost: a\r\n\r\n")
    server.wait_for(/^waits$/)
    server.signal(:TERM)
    assert_equal 75, server.wait_until_ended.exitstatus
    assert_match(/abandoning 1 open requests and 2 background fibers \(\S+\.rb:\d+/, server.log)
  ensure
    client&.close
    server&.kill
  end

  def test_a_second_int_waits_for_no_shielded_block
    [1, 2].each do |workers|
      server = started(drain_seconds: 3600, workers: workers)
      server.get("/outlives")
      server.wait_for(/^outlives$/)
      server.signal(:INT)
      workers == 1 ? server.wait_for(/the fiber of the boot has ended/) : server.wait_for(/INT: draining/)
      server.signal(:INT)
      assert_equal 75, server.wait_until_ended.exitstatus
    ensure
      server&.kill
    end
  end

  # Such loops are common: each stop would take all of drain_seconds.
  def test_a_fiber_that_rescues_its_cancellation_twice_does_not_hold_the_end
    server = started(drain_seconds: 3600)
    server.get("/continues")
    server.signal(:TERM)
    assert_equal 0, server.wait_until_ended.exitstatus
    assert_match(/WARN .*The worker exits without 1 background fibers \(\S+app\.rb:\d+/, server.log)
    assert_operator server.log.scan(/^rescued The worker exits/).size, :>=, 2
  ensure
    server&.kill
  end

  # The sinks were closed before: the push waited for ever in a loop that was closed, and so did that of at_exit.
  def test_what_ensure_blocks_hooks_and_at_exit_blocks_push_is_accepted
    [1, 2].each do |workers|
      server = started(workers: workers)
      server.get("/pushes")
      server.signal(:TERM)
      assert_equal 0, server.wait_until_ended.exitstatus
      processes = workers == 1 ? 1 : workers + 1
      assert_equal ["background", *(%w[exit] * processes), *(%w[hook] * workers)], accepted(server)
    ensure
      server&.kill
    end
  end

  def test_what_the_ensure_block_of_an_abandoned_request_pushes_is_accepted
    server = started(drain_seconds: 0.5)
    client = HttpClient.new(server.url).write("GET /abandoned HTTP/1.1\r\nHost: a\r\n\r\n")
    server.wait_for(/began to wait/)
    server.signal(:TERM)
    assert_equal 503, client.read_answer.status
    assert_equal 75, server.wait_until_ended.exitstatus
    assert_includes accepted(server), "request"
  ensure
    client&.close
    server&.kill
  end

  NAPS = <<~'RUBY'
    class Nap < Elah::Entity
      def owner = Process.pid

      def take
        warn "naps"
        sleep(0.5)
        owner
      end
    end

    NAPS = Nap.in(Elah::Store.open(Elah.config.state("naps")))

    class App < Elah::API
      format :json
      get("owner/:key") { [Process.pid, NAPS[params[:key]].owner] }
      get("take/:key") { [Process.pid, NAPS[params[:key]].take] }
    end

    run App
  RUBY

  # The worker closed the call of the other one, whose client got a 503, and the log had an error.
  def test_a_worker_that_gets_term_completes_the_calls_of_others
    [->(owner, _) { Process.kill(:TERM, owner) },
     ->(owner, server) { [owner, server.pid].each { |pid| Process.kill(:TERM, pid) } }].each do |ends|
      server = supervised(NAPS, drain_seconds: 3600)
      server.connect do |client|
        key, owner = key_of_another(client)
        client.write("GET /take/#{key} HTTP/1.1\r\nHost: a\r\n\r\n")
        server.wait_for(/^naps$/)
        ends.call(owner, server)
        assert_equal owner, client.read_answer.json.last
        server.wait_for(/Worker \d \(process #{owner}\) has exited/)
      end
      refute_match(/ERROR/, server.log)
      server.stop
    ensure
      server&.kill
    end
  end

  private

  # @return [Array(Integer, Integer)] a key whose owner is not the worker of this connection, and the owner's process ID
  def key_of_another(client)
    (1..).each do |key|
      here, owner = client.get("/owner/#{key}").json
      return [key, owner] if here != owner
    end
  end

  def started(**options)
    @folder ||= Dir.mktmpdir("elah-end")
    config = File.join(@folder, "config.rb")
    File.write(config, CONFIG)
    ElahServer.start(APP, config: config, **options)
  end

  def teardown
    FileUtils.remove_entry(@folder) if @folder
  end

  # @return [Array<String>] where the events of all journals were pushed
  def accepted(server)
    found = Queue.new
    folder = File.join(server.folder, "data", "sinks", "late")
    sink = Elah::Sink.new("late", folder: folder, adopt_seconds: 0.05) do |events|
      events.each { |event| found << event["at"] }
    end
    sink.start
    wait_until("all are delivered") do
      total = sink.report["total"]
      total["accepted"] == total["delivered"] && !found.empty?
    end
    Array.new(found.size) { found.pop }.sort
  ensure
    sink&.close
  end
end
