# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# Timers of entities at a server with two workers, through killed workers, a killed server and changes of owners: each
# fires, and its changes are stored once.
class EntityTimersServerTest < Minitest::Test
  include SupervisedCase

  APP = <<~RUBY
    class Ticket < Elah::Entity
      index :fired

      def restore = @fired = state.get("fired").to_i
      def hold(seconds) = wake_at(Time.now + seconds)

      private

      def woken
        File.write(File.join(Elah.config.data, "begun"), "\#{key}\\n", mode: "a")
        Elah.offload { IO.read(GATE) } if File.exist?(GATE)
        state.put("fired", (@fired += 1).to_s)
        index(:fired).put(key, "\#{@fired} \#{Process.pid}")
      end
    end

    GATE = File.join(Elah.config.data, "gate")
    TICKETS = Ticket.in(Elah::Store.open(Elah.config.data))

    class Tickets < Elah::API
      format :json
      get("fired") { TICKETS.index(:fired).range.to_h }
      get("hold/:count/:ms") do
        calls = (1..params[:count].to_i).map { |n| [n.to_s, :hold, params[:ms].to_i / 1000.0] }
        { failed: TICKETS.call_many(calls).grep(Exception).map(&:message) }
      end
    end
    run Tickets
  RUBY

  COUNT = 40

  def setup = @data = Dir.mktmpdir("elah-timers")
  def teardown = FileUtils.remove_entry(@data)

  def serve(&block) = supervised(APP, data: @data, &block)

  # Sets the timers of all tickets.
  def hold(server, milliseconds)
    assert_empty server.get("/hold/#{COUNT}/#{milliseconds}").json["failed"]
  end

  # How often each ticket's timer has fired according to the store, and in which processes; waits until all have.
  def fired(server)
    rows = {}
    wait_until("all timers have fired:\n#{server.log}") { (rows = server.get("/fired").json).size == COUNT }
    rows.values.map(&:split).transpose
  end

  def assert_each_fired_once(server)
    counts, pids = fired(server)
    assert_equal ["1"] * COUNT, counts
    pids.uniq.map(&:to_i)
  end

  def test_each_worker_fires_the_timers_of_its_entities
    serve do |server|
      hold(server, 200)
      assert_equal worker_pids(server).sort, assert_each_fired_once(server).sort
      wait_until("the status has them") { workers(server).sum { |worker| worker[:app]["timers_fired"].to_i } == COUNT }
    end
  end

  def test_timers_of_a_worker_that_was_killed_fire_in_its_successor
    serve do |server|
      hold(server, 3000)
      killed = worker_pids(server).first
      Process.kill(:KILL, killed)
      refute_includes assert_each_fired_once(server), killed
    end
  end

  def test_timers_fire_after_the_whole_server_was_killed_and_nobody_calls_the_entities
    server = ElahServer.start(APP, workers: 2, data: @data)
    hold(server, 200)
    server.kill
    serve { |successor| assert_each_fired_once(successor) }
  end

  def test_timers_move_with_their_shards
    serve do |server|
      pids = worker_pids(server)
      hold(server, 3000)
      server.signal(:TTOU)
      wait_for_workers(server, 1)
      assert_equal worker_pids(server), assert_each_fired_once(server)
      assert_includes pids, worker_pids(server).first
    end
  end

  def test_a_timer_whose_worker_was_killed_meanwhile_is_called_again_and_stored_once
    gate = File.join(@data, "gate")
    File.mkfifo(gate)
    serve do |server|
      hold(server, 0)
      begun = File.join(@data, "begun")
      wait_until("calls of timers wait") { File.exist?(begun) && File.readlines(begun).size == COUNT }
      File.unlink(gate)
      worker_pids(server).each { |pid| Process.kill(:KILL, pid) }
      assert_each_fired_once(server)
      assert_equal [2], File.readlines(begun).tally.values.uniq, "each was called again"
    end
  end
end
