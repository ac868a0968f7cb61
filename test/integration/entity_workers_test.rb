# frozen_string_literal: true

require "test_helper"
require "json"
require "support/supervised_case"

# Entities of a server with two workers: the same call from each, through restarts, a killed worker, and one that is
# paused.
class EntityWorkersTest < Minitest::Test
  include SupervisedCase

  APP = File.expand_path("../support/apps/accounts.rb", __dir__)
  KEYS = (1..40).map(&:to_s).freeze

  # Changes that stay in memory as long as they may.
  TALLY = <<~RUBY
    class Tally < Elah::Entity
      durability :memory
      linger_seconds LINGER_SECONDS_MAX
      def restore = @count = state.get("count").to_i
      attr_reader :count
      def add
        state.put("count", (@count += 1).to_s)
        @count
      end
      def add_later(file)
        sleep 0.01 until File.exist?(file)
        add
      end
      def pid = Process.pid
    end
    TALLIES = Tally.in(Elah::Store.open(Elah.config.data))
  RUBY

  def json(server, target) = JSON.parse(server.get(target).body)

  def balance(server, key) = json(server, "/balance/#{key}").fetch("balance")

  # For each key, what a deposit of 1 after the other was answered, from several clients, until the block is done.
  def deposits(server, clients: 4)
    ended = false
    threads = Array.new(clients) { |client| Thread.new { deposit_until(server, client) { ended } } }
    yield
    ended = true
    threads.map(&:value)
  ensure
    ended = true
    threads&.each(&:join)
  end

  # Each client has keys of its own, so that the answers of a key come in their order.
  def deposit_until(server, client)
    answered = Hash.new(0)
    failed = Hash.new(0)
    keys = KEYS.select { |key| key.to_i % 4 == client }.cycle
    until yield
      key = keys.next
      begin
        answer = server.get("/deposit/#{key}/1")
        answer.status == 200 ? answered[key] += 1 : failed[key] += 1
      rescue SystemCallError, HttpClient::Closed, HttpClient::Silence
        failed[key] += 1
      end
    end
    [answered, failed]
  end

  def assert_nothing_forgotten(server, outcomes)
    outcomes.each do |answered, failed|
      (answered.keys | failed.keys).each do |key|
        assert_includes answered[key]..(answered[key] + failed[key]), balance(server, key), "account #{key}"
      end
    end
  end

  def test_each_worker_calls_every_entity
    supervised(APP) do |server|
      answers = Array.new(200) { |n| json(server, "/balance/#{KEYS[n % KEYS.size]}") }
      assert_equal 2, answers.map { |answer| answer["owner"] }.uniq.size, "both own some"
      assert(answers.any? { |answer| answer["owner"] != answer["here"] }, "some calls went to the other worker")
      owners = answers.each_with_index.group_by { |_, n| KEYS[n % KEYS.size] }
      owners.each do |key, of_key|
        assert_equal 1, of_key.map { |answer, _| answer["owner"] }.uniq.size, "account #{key} has one owner"
      end
      40.times { KEYS.each_slice(10) { |keys| server.get("/deposit/#{keys.first}/1") } }
      assert_equal [40] * 4, KEYS.each_slice(10).map { |keys| balance(server, keys.first) }
    end
  end

  def test_answers_and_exceptions_are_the_same_wherever_the_owner_is
    supervised(APP) do |server|
      KEYS.first(10).each do |key|
        assert_equal({ "answer" => [1, 2] }, json(server, "/keywords/#{key}"))
        failure = json(server, "/fail/#{key}")
        assert_equal ["TypeError", "in the owner"], failure.values_at("error", "message")
        assert(failure["backtrace"].any? { |line| line.include?("apps/accounts.rb") }, failure["backtrace"].inspect)
        assert_equal 409, server.get("/withdraw/#{key}/5").status
      end
    end
  end

  def test_a_call_that_comes_back_through_another_worker_is_refused
    supervised(APP, request_seconds: 20) do |server|
      owners = KEYS.group_by { |key| json(server, "/balance/#{key}")["owner"] }.values
      answer = json(server, "/circle/#{owners[0].first}/#{owners[1].first}")
      assert_equal "Elah::Entity::Reentrant", answer["error"], answer.inspect
    end
  end

  def test_many_calls_are_shared_out_and_answered_in_their_order
    supervised(APP) do |server|
      5.times { |n| assert_equal [n + 1] * 40, json(server, "/many/1")["answers"] }
      assert_equal [5] * 40, json(server, "/gather/5000")["answers"]
    end
  end

  def test_a_restart_of_the_workers_loses_nothing
    supervised(APP) do |server|
      pids = worker_pids(server)
      outcomes = deposits(server) do
        server.signal(:USR1)
        wait_for_workers(server, 2, besides: pids)
      end
      assert_empty outcomes.flat_map { |_, failed| failed.keys }, server.log
      assert_nothing_forgotten(server, outcomes)
    end
  end

  # A shard that was handed over and came back before anybody had called was refused for ever.
  def test_shards_that_come_back_unnoticed_are_served
    supervised(APP) do |server|
      KEYS.each { |key| server.get("/deposit/#{key}/1") }
      server.signal(:TTIN)
      wait_for_workers(server, 3)
      server.signal(:TTOU)
      wait_for_workers(server, 2)
      assert_equal [1] * KEYS.size, KEYS.map { |key| balance(server, key) }
    end
  end

  # The hand-over failed before it stored anything: the changes of the last moments were lost with each change of the
  # number of workers.
  def test_changes_in_memory_are_stored_before_the_next_owner_reads_them
    app = <<~RUBY
      #{TALLY}
      run(Class.new(Elah::API) do
        format :json
        get("add/:key") { { count: TALLIES[params[:key]].add, owner: TALLIES[params[:key]].pid } }
      end)
    RUBY
    supervised(app) do |server|
      owners = KEYS.map { |key| json(server, "/add/#{key}")["owner"] }
      assert_equal 2, owners.uniq.size
      server.signal(:TTOU)
      wait_for_workers(server, 1)
      assert_equal [2] * KEYS.size, KEYS.map { |key| json(server, "/add/#{key}")["count"] }, server.log
      server.signal(:TTIN)
      wait_for_workers(server, 2)
      assert_equal [3] * KEYS.size, KEYS.map { |key| json(server, "/add/#{key}")["count"] }, server.log
      refute_includes server.log, "before_release block failed"
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
      clients = KEYS.map { |key| server.connect.write("GET /wait/#{key} HTTP/1.1\r\nHost: test.example\r\n\r\n") }
      KEYS.each { |key| server.get("/pid/#{key}") }
      server.get("/last")
      server.signal(:TTIN)
      server.wait_for(/did not hand over within 0\.1 s.*The number of workers is 2/m)
      server.signal(:TTOU)
      server.wait_for(/The number of workers is 2.*The number of workers is 1/m)
      server.get("/open")
      server.wait_for(/All has been handed over/)
      assert_equal [200], KEYS.map { |key| server.get("/pid/#{key}").status }.uniq, server.log
    ensure
      clients&.each(&:close)
    end
  end

  # A call that was longer than `handover_seconds` kept what other calls had left in memory from being stored in time,
  # and its own changes were acknowledged though another worker had its shard.
  def test_changes_in_memory_survive_a_call_that_is_longer_than_the_hand_over
    app = <<~RUBY
      #{TALLY}
      GATE = File.join(Elah.config.data, "gate")
      run(Class.new(Elah::API) do
        format :txt
        get("add/:key") { TALLIES[params[:key]].add.to_s }
        get("later/:key") { TALLIES[params[:key]].add_later(GATE).to_s }
        get("count/:key") { TALLIES[params[:key]].count.to_s }
        get(:open) { File.write(GATE, "") && "" }
      end)
    RUBY
    supervised(app, handover_seconds: 0.1) do |server|
      server.signal(:TTOU)
      wait_for_workers(server, 1)
      KEYS.each { |key| server.get("/add/quick#{key}") }
      clients = KEYS.map { |key| server.connect.write("GET /later/#{key} HTTP/1.1\r\nHost: test.example\r\n\r\n") }
      server.signal(:TTIN)
      server.wait_for(/did not hand over within 0\.1 s.*The number of workers is 2/m)
      assert_equal ["1"], KEYS.map { |key| server.get("/count/quick#{key}").body }.uniq, "what had returned"
      server.get("/open")
      assert_equal ["1"], clients.map { |client| client.read_answer.body }.uniq
      assert_equal ["1"], KEYS.map { |key| server.get("/count/#{key}").body }.uniq, "what ran on"
    ensure
      clients&.each(&:close)
    end
  end

  def test_a_worker_that_is_killed_takes_nothing_that_was_answered_with_it
    supervised(APP) do |server|
      pids = worker_pids(server)
      outcomes = deposits(server) do
        wait_until("deposits are made") { balance(server, "1").positive? }
        Process.kill(:KILL, pids.first)
        wait_for_workers(server, 2, besides: pids.first(1))
      end
      assert_nothing_forgotten(server, outcomes)
      KEYS.each { |key| assert_kind_of Integer, balance(server, key) }
    end
  end

  def test_entities_of_a_worker_that_is_paused_have_their_fallback_in_time
    supervised(APP, hang_seconds: 3600) do |server|
      KEYS.each { |key| server.get("/deposit/#{key}/1") }
      paused, serving = worker_pids(server)
      client = client_of(server, serving)
      begin
        Process.kill(:STOP, paused)
        answer = JSON.parse(client.request("GET", "/gather/300").body)
        assert_operator answer["outcomes"].fetch("returned"), :>, 0
        assert_includes answer["answers"], "none"
        assert_includes answer["answers"], 1
      ensure
        Process.kill(:CONT, paused)
      end
      wait_until("all answer again") { JSON.parse(client.request("GET", "/gather/5000").body)["answers"] == [1] * 40 }
    ensure
      client&.close
    end
  end

  private

  # A connection to the worker with this process id.
  def client_of(server, pid)
    found = nil
    wait_until("a connection to #{pid}") do
      client = server.connect
      found = client if JSON.parse(client.request("GET", "/pid").body)["pid"] == pid
      client.close unless found
      found
    end
    found
  end
end
