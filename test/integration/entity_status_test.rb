# frozen_string_literal: true

require "test_helper"
require "json"
require "open3"
require "socket"
require "support/supervised_case"

# What `elah status`, the metrics and the log say of entities and of the calls between workers.
class EntityStatusTest < Minitest::Test
  include SupervisedCase

  APP = File.expand_path("../support/apps/accounts.rb", __dir__)

  # Its entities come into being with the first request for them.
  LATE_APP = <<~RUBY
    class LateAPI < Elah::API
      get(:ping) do
        Object.const_set(:Late, Class.new(Elah::Entity) { def ping = "pong" }) unless Object.const_defined?(:Late)
        Late.in(Elah::Store.open(Elah.config.data))["a"].ping
      rescue Elah::Error => e
        e.class.name
      end
    end

    run LateAPI
  RUBY

  def elah_status(server)
    text, ended = Open3.capture2e(ElahServer::EXECUTABLE, "status", "--run-dir", File.join(server.folder, "run"))
    assert_predicate ended, :success?, text
    text
  end

  def metrics(server) = Elah::Metrics.text(Elah::Scoreboard.open(run_dir(server).scoreboard_path))

  # What the worker with this process id says of the other one.
  def peer_of(server, pid) = workers(server).find { |worker| worker[:pid] == pid }[:peers].first

  def client_of(server, pid)
    wait_until("a connection to #{pid}") do
      client = server.connect
      break client if JSON.parse(client.get("/pid").body)["pid"] == pid

      client.close
    end
  end

  def test_it_shows_what_entities_the_workers_have
    supervised(APP) do |server|
      assert_empty elah_status(server)[/^(Entities|Calls).*/].to_s, "nothing is called yet"
      wait_until("both have claimed theirs") do
        server.get("/gather/5000")
        workers(server).sum { |worker| worker[:entities] } == 40 &&
          workers(server).all? { |worker| worker[:shards_claimed] == 128 }
      end
      table = /^Entities\nworker +entities +claimed +received +sent\n0 +\d+ +128 +\d+ +\d+\n1 +\d+ +128 +\d+ +\d+\n/
      assert_match(table, elah_status(server))
      samples = metrics(server).scan(/^elah_entities\{worker="[01]",pid="\d+"\} (\d+)$/).flatten
      assert_equal [2, 40], [samples.size, samples.sum(&:to_i)]
    end
  end

  def test_one_process_shows_its_entities_too
    ElahServer.start(APP) do |server|
      server.get("/gather/5000")
      wait_until("they are shown") do
        status(server).workers.first.values_at(:entities, :shards_claimed, :peers) == [40, 256, []]
      end
    end
  end

  def test_a_worker_that_is_paused_is_shown_as_limited_until_it_answers_again
    supervised(APP, hang_seconds: 3600) do |server|
      paused, serving = worker_pids(server)
      client = client_of(server, serving)
      client.get("/gather/5000")
      wait_until("calls went there") do
        peer_of(server, serving)&.slice(:slot, :state, :allowance) == { slot: 0, state: :open, allowance: nil }
      end
      begin
        Process.kill(:STOP, paused)
        wait_until("it is limited") do
          client.get("/gather/50")
          peer_of(server,
                  serving).then { |peer| peer[:allowance] && peer[:late_calls] >= 3 && peer[:limited_calls].positive? }
        end
        assert_match(/^Calls between workers\nworker +calls +state +allowance +open +late +limited$/,
                     elah_status(server))
        assert_match(/^1 +0 +(probing|limited) +\d+ +\d+ +\d+ +\d+$/, elah_status(server))
        assert_match(/^elah_peer_allowance\{worker="1",pid="#{serving}",peer="0"\} \d+$/, metrics(server))
        assert_match(/^elah_peer_late_calls_total\{worker="1",pid="#{serving}",peer="0"\} [1-9]\d*$/, metrics(server))
      ensure
        Process.kill(:CONT, paused)
      end
      wait_until("it is open again") do
        client.get("/gather/5000")
        peer_of(server, serving)[:state] == :open
      end
      assert_match(/^1 +0 +open +unlimited +\d+ +[1-9]\d* +[1-9]\d*$/, elah_status(server))
      assert_match(/^elah_peer_allowance\{worker="1",pid="#{serving}",peer="0"\} \+Inf$/, metrics(server))
    ensure
      client&.close
    end
  end

  def test_what_it_says_of_a_worker_goes_with_that
    supervised(APP) do |server|
      pids = worker_pids(server)
      client = client_of(server, pids.last)
      client.get("/gather/5000")
      wait_until("calls went there") { peer_of(server, pids.last) }
      wait_until("the other one has called, too") do
        server.get("/gather/5000") && workers(server).all? { |worker| worker[:peers].any? }
      end
      Process.kill(:KILL, pids.first)
      wait_for_workers(server, 2, besides: pids.first(1))
      assert_empty status(server).workers.first[:peers], "the new one has called nobody"
      wait_until("nobody has called the new one") { peer_of(server, pids.last).nil? }
      client.get("/gather/5000")
      wait_until("the new one is called") { peer_of(server, pids.last) }
    ensure
      client&.close
    end
  end

  def test_garbage_on_a_link_is_logged
    [APP, LATE_APP].each do |app|
      supervised(app) do |server|
        clients = []
        wait_until("both listen to each other") do
          # Kept open, so that the next one goes to the other worker.
          clients << server.connect.tap { |client| client.get("/ping") }
          Dir[File.join(run_dir(server).path, "*.sock")].size == 2
        end
        sockets = Dir[File.join(run_dir(server).path, "*.sock")].map { |path| UNIXSocket.new(path) }
        sockets.each { |socket| socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        wait_until("both log it:\n#{server.log}") do
          server.log.scan(/ WARN .*A link from another process was closed/).size == 2
        end
      ensure
        [*sockets, *clients].each(&:close)
      end
    end
  end
end
