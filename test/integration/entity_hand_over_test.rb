# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# Shards that other workers get, or the same one again, while entities have changes in memory and calls run.
class EntityHandOverTest < Minitest::Test
  include SupervisedCase

  KEYS = (1..40).map(&:to_s).freeze
  LATE = /did not hand over within [\d.]+ s.*The number of workers is 2/m

  def setup = @clients = []
  def teardown = @clients.each(&:close)

  # A shard that was handed over and came back before anybody had called was refused for ever.
  def test_shards_that_come_back_unnoticed_are_served
    supervised(app(:disk)) do |server|
      KEYS.each { |key| server.get("/add/#{key}") }
      server.signal(:TTIN)
      wait_for_workers(server, 3)
      server.signal(:TTOU)
      wait_for_workers(server, 2)
      assert_counts 1, server
    end
  end

  # The hand-over failed before it stored anything: the changes of the last moments were lost with each change of the
  # number of workers.
  def test_changes_in_memory_are_stored_before_the_next_owner_reads_them
    supervised(app(:memory)) do |server|
      assert_equal 2, KEYS.map { |key| server.get("/pid/#{key}").body }.uniq.size
      KEYS.each { |key| server.get("/add/#{key}") }
      server.signal(:TTOU)
      wait_for_workers(server, 1)
      assert_counts 1, server
      KEYS.each { |key| server.get("/add/#{key}") }
      server.signal(:TTIN)
      wait_for_workers(server, 2)
      assert_counts 2, server
      refute_includes server.log, "before_release block failed"
    end
  end

  # Shards came back that nobody had claimed meanwhile. A collection that had not used them before took the claim of
  # their last term. Another one claimed them anew, and what was written under the old claim was stored nowhere.
  def test_changes_of_a_second_collection_survive_when_shards_come_back
    app = <<~RUBY
      class Stored < Elah::Entity
        def add = (@count = @count.to_i + 1)
      end
      class Remembered < Stored
        durability :memory
        linger_seconds 60
        def restore = @count = state.get("count").to_i
        def add = super.tap { |count| state.put("count", count.to_s) }
      end
      STORE = Elah::Store.open(Elah.config.data)
      ENTITIES = { "stored" => Stored.in(STORE), "remembered" => Remembered.in(STORE) }
      run(Class.new(Elah::API) do
        format :txt
        get("add/:name/:key") { ENTITIES[params[:name]][params[:key]].add.to_s }
        get(:write) { 8.times { |n| Elah.async { STORE.table("large").put(n.to_s, "x" * 10_000_000) } } && "" }
      end)
    RUBY
    supervised(app) do |server|
      add = ->(name) { KEYS.map { |key| server.get("/add/#{name}/#{key}").body }.uniq }
      assert_equal ["1"], add.call("stored")
      server.signal(:TTIN)
      server.wait_for(/The number of workers is 3/)
      server.signal(:TTOU)
      server.wait_for(/The number of workers is 2/)
      assert_equal ["1"], add.call("remembered")
      server.get("/write") # the claims wait for it
      bodies(%w[stored remembered].flat_map { |name| call_all(server, "add/#{name}/%s") })
      assert_equal ["3"], add.call("remembered")
    end
  end

  # Calls of the first collection ran for longer than `handover_seconds`. The shards went away and came back before the
  # second collection was told, which then handed over the term that had just begun, and refused all calls for good.
  def test_shards_that_come_back_while_calls_of_another_collection_run_are_served
    app = <<~RUBY
      GATE = Thread::Queue.new
      class Slow < Elah::Entity
        def wait = GATE.pop.to_s
      end
      class Quick < Elah::Entity
        def pid = Process.pid
      end
      STORE = Elah::Store.open(Elah.config.data)
      SLOW = Slow.in(STORE)
      QUICK = Quick.in(STORE)
      run(Class.new(Elah::API) do
        format :txt
        get("wait/:key") { SLOW[params[:key]].wait }
        get("pid/:key") { QUICK[params[:key]].pid.to_s }
        get(:last) { Elah::Placement.current.before_release { warn "All has been handed over" } && "" }
        get(:open) { GATE.close && "" }
      end)
    RUBY
    supervised(app, handover_seconds: 0.1, entity_moving_seconds: 1) do |server|
      server.signal(:TTOU)
      wait_for_workers(server, 1)
      call_all(server, "wait/%s")
      KEYS.each { |key| server.get("/pid/#{key}") }
      server.get("/last")
      server.signal(:TTIN)
      server.wait_for(/did not hand over within 0\.1 s.*The number of workers is 2/m)
      server.signal(:TTOU)
      server.wait_for(/The number of workers is 2.*The number of workers is 1/m)
      server.get("/open")
      server.wait_for(/All has been handed over/)
      assert_equal [200], KEYS.map { |key| server.get("/pid/#{key}").status }.uniq, server.log
    end
  end

  # A call that was longer than `handover_seconds` kept what other calls had left in memory from being stored in time,
  # and its own changes were acknowledged though another worker had its shard.
  def test_changes_in_memory_survive_a_call_that_is_longer_than_the_hand_over
    with_one_worker(:memory, handover_seconds: 0.1) do |server|
      KEYS.each { |key| server.get("/add/quick#{key}") }
      clients = begin_calls(server, "later/%s/gate")
      server.signal(:TTIN)
      server.wait_for(LATE)
      assert_counts 1, server, "quick%s"
      server.get("/open/gate")
      assert_equal ["1"], bodies(clients).uniq
      assert_counts 1, server
    end
  end

  # Its changes stayed in memory, and were stored only when another call had ended: too late.
  def test_changes_in_memory_of_calls_that_end_during_a_long_hand_over_survive
    with_one_worker(:memory, handover_seconds: 2) do |server|
      long = begin_calls(server, "later/%s/long")
      short = begin_calls(server, "later/short%s/short")
      server.signal(:TTIN)
      server.wait_for(/Hand-over begins.*Hand-over begins/m)
      server.get("/open/short")
      assert_equal ["1"], bodies(short).uniq
      server.wait_for(LATE)
      assert_counts 1, server, "short%s"
      server.get("/open/long")
      assert_equal ["1"], bodies(long).uniq
    end
  end

  # A call was longer than the hand-over, and the shard came back: the entity was in memory twice, and each wrote over
  # what the other had stored.
  [true, false].each do |has_owner|
    define_method(:"test_an_entity_that_comes_back_is_there_once#{'_after_another_owner' if has_owner}") do
      with_one_worker(:disk, handover_seconds: 0.1) do |server|
        clients = begin_calls(server, "later/%s/gate") + begin_calls(server, "add/%s")
        server.signal(:TTIN)
        server.wait_for(LATE)
        KEYS.each { |key| server.get("/add/other#{key}") } if has_owner
        server.signal(:TTOU)
        server.wait_for(/The number of workers is 2.*The number of workers is 1/m)
        clients += call_all(server, "add/%s")
        server.get("/open/gate")
        answers = bodies(clients).each_slice(KEYS.size).to_a.transpose
        assert_equal [%w[1 2 3]], answers.map(&:sort).uniq, server.log
        assert_counts 3, server
      end
    end
  end

  # A hand-over waited for a call that waited for another entity of the same shards: for its next owner, and so for the
  # end of the hand-over. Then the inner call took effect twice.
  def test_a_call_that_is_waited_for_reaches_other_entities_that_are_handed_over
    supervised(app(:disk), handover_seconds: 60) do |server|
      pids = worker_pids(server)
      clients = begin_calls(server, "give/%s/gate")
      server.signal(:USR1)
      server.wait_for(/Hand-over begins/)
      server.get("/open/gate")
      assert_equal ["1"], bodies(clients).uniq
      wait_for_workers(server, 2, besides: pids)
      assert_counts 1, server
      assert_counts 1, server, "x%s"
      refute_includes server.log, "did not hand over"
    end
  end

  # The hand-over waited for a call whose way led through another worker back to the first one. That refused it until
  # the hand-over was over, which waited for it: both ended after `entity_moving_seconds`.
  def test_a_call_that_is_waited_for_comes_back_through_another_worker
    supervised(app(:disk), handover_seconds: 60) do |server|
      pids = worker_pids(server)
      here, there = KEYS.group_by { |key| server.get("/pid/#{key}").body }.values
      ways = [[here[0], there[0], here[1]], [there[1], here[2], there[2]]]
      clients = begin_calls(server, "relay/%s/gate", ways.map { |way| way.join("/") })
      server.signal(:USR1)
      server.wait_for(/Hand-over begins/)
      server.get("/open/gate")
      assert_equal ["1"], bodies(clients).uniq, server.log
      wait_for_workers(server, 2, besides: pids)
      assert_equal ["1"], ways.flatten.map { |key| server.get("/count/#{key}").body }.uniq
      refute_includes server.log, "did not hand over"
    end
  end

  # The slot stayed empty for good, and its shards without an owner.
  def test_a_worker_whose_successor_dies_during_the_hand_over_stays
    supervised(app(:disk), handover_seconds: 60) do |server|
      clients = begin_calls(server, "later/%s/gate")
      server.signal(:USR1)
      ready = server.wait_for(/Restarting.*Worker 0 \(process (\d+)\) is ready.*Hand-over begins/m)
      Process.kill(:KILL, ready[1].to_i)
      server.wait_for(/Worker 0 \(process #{ready[1]}\) exited during the hand-over: SIGKILL.*; Worker 0 .* stays/)
      server.get("/open/gate")
      assert_equal ["1"], bodies(clients).uniq
      assert_counts 1, server
    end
  end

  # What was being handed over had no owner while the server drained.
  def test_a_server_that_is_stopped_during_a_hand_over_finishes_its_requests
    supervised(app(:disk), handover_seconds: 60) do |server|
      clients = begin_calls(server, "later/%s/gate") + begin_calls(server, "then/x%s/gate")
      server.signal(:USR1)
      server.wait_for(/Hand-over begins/)
      assert_finishes(clients, server)
    end
  end

  # The shards of the worker that had handed over at once had no owner until the end.
  def test_a_server_that_is_stopped_while_one_of_two_workers_has_handed_over_finishes_its_requests
    supervised(app(:disk), handover_seconds: 60) do |server|
      busy = KEYS.select { |key| server.get("/pid/#{key}").body.to_i == worker_pids(server)[1] }
      clients = begin_calls(server, "later/%s/gate", busy) + begin_calls(server, "then/x%s/gate")
      server.signal(:TTIN)
      server.wait_for(/(Hand-over begins.*){2}/m)
      assert_finishes(clients, server)
    end
  end

  # The hand-over did not know the collection that was used first while it ran, and served its calls in the last moment.
  def test_changes_of_a_collection_that_is_used_first_during_a_hand_over_survive
    supervised(app(:memory), handover_seconds: 60) do |server|
      waiting = begin_calls(server, "wait/%s/gate")
      server.signal(:TTOU)
      server.wait_for(/Hand-over begins/)
      arrived = requests(server)
      late = call_all(server, "add/%s")
      wait_until("all have arrived") { requests(server) == arrived + KEYS.size }
      server.get("/open/gate")
      assert_equal [["waited"], ["1"]], [waiting, late].map { |clients| bodies(clients).uniq }
      assert_counts 1, server
    end
  end

  private

  # A server that is stopped.
  def assert_finishes(clients, server)
    server.signal(:TERM)
    server.wait_for(/TERM: draining/)
    File.write(File.join(server.folder, "data/gate"), "")
    assert_equal ["1"], bodies(clients).uniq
  end

  # Calls that wait for a gate until it is opened, also in another worker.
  def app(durability)
    <<~RUBY
      class Tally < Elah::Entity
        durability :#{durability}
        linger_seconds LINGER_SECONDS_MAX if durability == :memory
        def restore = @count = state.get("count").to_i
        attr_reader :count
        def add
          state.put("count", (@count += 1).to_s)
          @count
        end
        def add_later(gate)
          sleep 0.01 until File.exist?(gate)
          add
        end
        def give(other, gate)
          sleep 0.01 until File.exist?(gate)
          TALLIES[other].add
          add
        end
        def relay(gate, *others)
          sleep 0.01 until File.exist?(gate)
          TALLIES[others.shift].relay(gate, *others) if others.any?
          add
        end
        def pid = Process.pid
      end
      class Slow < Elah::Entity
        def wait(gate) = (sleep 0.01 until File.exist?(gate)) || "waited"
      end
      STORE = Elah::Store.open(Elah.config.data)
      TALLIES = Tally.in(STORE)
      SLOW = Slow.in(STORE)
      Elah::Config.at(:before_worker_boot) { Elah::Placement.current.before_release { warn "Hand-over begins" } }
      run(Class.new(Elah::API) do
        format :txt
        helpers { def gate = File.join(Elah.config.data, params[:gate]) }
        get("add/:key") { TALLIES[params[:key]].add.to_s }
        get("wait/:key/:gate") { SLOW[params[:key]].wait(gate) }
        get("later/:key/:gate") { TALLIES[params[:key]].add_later(gate).to_s }
        get("give/:key/:gate") { TALLIES[params[:key]].give("x" + params[:key], gate).to_s }
        get("relay/:a/:b/:c/:gate") { TALLIES[params[:a]].relay(gate, params[:b], params[:c]).to_s }
        get("count/:key") { TALLIES[params[:key]].count.to_s }
        get("pid/:key") { TALLIES[params[:key]].pid.to_s }
        get("then/:key/:gate") { (sleep 0.01 until File.exist?(gate)) || TALLIES[params[:key]].add.to_s }
        get("open/:gate") { File.write(gate, "") && "" }
      end)
    RUBY
  end

  # A server that can have a second worker.
  def with_one_worker(durability, **options)
    supervised(app(durability), **options) do |server|
      server.signal(:TTOU)
      wait_for_workers(server, 1)
      yield server
    end
  end

  # @param path [String] with `%s` for the key
  # @return [Array<HttpClient>] one for each key, once the server runs these calls and all that were begun before: a
  #   request that was answered a moment ago may still be counted, so what is counted now says nothing
  def begin_calls(server, path, keys = KEYS)
    clients = call_all(server, path, keys)
    wait_until("the calls run") { running_requests(server) == @clients.size }
    clients
  end

  # The clients are closed after the test.
  def call_all(server, path, keys = KEYS)
    calls = keys.map { |key| server.connect.write("GET /#{format(path, key)} HTTP/1.1\r\nHost: test.example\r\n\r\n") }
    @clients.concat(calls)
    calls
  end

  # Also of workers that hand over.
  def requests(server) = status(server).workers.sum { |worker| worker[:requests] }

  def running_requests(server) = workers(server).sum { |worker| worker[:open_requests] }

  def bodies(clients) = clients.map { |client| client.read_answer.body }

  def assert_counts(count, server, key = "%s")
    assert_equal [count.to_s], KEYS.map { |number| server.get("/count/#{format(key, number)}").body }.uniq, server.log
  end
end
