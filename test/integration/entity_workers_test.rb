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

  # The trial process of a restart became the owner, and what the workers had acknowledged in memory was lost.
  def test_an_app_that_calls_an_entity_while_it_loads_is_refused
    app = "#{File.read(APP).sub(/^run .*/, '')}\nACCOUNTS['a'].balance\nrun Api"
    error = assert_raises(ElahServer::Failure) { supervised(app) { flunk } }
    assert_match(/make first calls in Elah\.async, in the hook before_worker_boot/, error.message)
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

  # It waited until the deadline of the request, with all three and everybody who called them.
  def test_a_call_that_comes_back_in_a_fiber_of_the_third_is_refused
    supervised(APP, request_seconds: 20) do |server|
      own, other = KEYS.group_by { |key| json(server, "/balance/#{key}")["owner"] }.values
      %w[async gather many].each do |way|
        answer = json(server, "/circle_by/#{way}/#{own[0]},#{other[0]},#{own[1]}")
        assert_equal "Elah::Entity::Reentrant", answer["error"], "#{way}: #{answer.inspect}"
      end
    end
  end

  def test_many_calls_are_shared_out_and_answered_in_their_order
    supervised(APP) do |server|
      5.times { |n| assert_equal [n + 1] * 40, json(server, "/many/1")["answers"] }
      assert_equal [5] * 40, json(server, "/gather/5000")["answers"]
    end
  end

  # The calls of a worker were made one after the other, and their results came together.
  def test_a_call_that_hangs_costs_no_other_call_of_its_worker_the_result
    supervised(APP) do |server|
      owners = KEYS.group_by { |key| json(server, "/balance/#{key}")["owner"] }
      client = client_of(server, owners.keys.first)
      owners.each_value do |first, *others|
        answer = JSON.parse(client.request("GET", "/hang/#{first}/beside/#{others.first(3).join(',')}").body)
        assert_equal [nil, 1, 1, 1], answer["answers"].values
      end
    ensure
      client&.close
    end
  end

  # Nothing ended them: the entity was busy as long as the server ran.
  def test_calls_that_are_made_after_a_deadline_end_after_the_time_of_a_request
    supervised(APP, request_seconds: 2) do |server|
      server.connect do |client|
        answers = KEYS.to_h { |key| [key, client.get("/balance/#{key}").json] }
        far = KEYS.reject { |key| answers[key]["owner"] == answers[key]["here"] }
        %w[many gather].zip(far) do |way, key|
          assert_equal 504, client.get("/late/#{way}/#{key}").status
          wait_until("it answers again, #{way}") { client.get("/balance/#{key}").status == 200 }
        end
      end
    end
  end

  # The IOError was the result of all calls to the other worker, also of those that had run.
  def test_a_stream_that_is_closed_meanwhile_fails_one_of_many_calls
    supervised(APP) do |server|
      server.connect do |client|
        keys = KEYS.group_by { |key| client.get("/balance/#{key}").json["owner"] }.values.map(&:first)
        assert_equal [[0, "IOError", 0]] * 2, keys.map { |key| client.get("/closed/#{key}").json["answers"] }
      end
    end
  end

  # All deferred calls to the other worker failed with it, and none of them ran.
  def test_a_deferred_call_whose_arguments_cannot_be_copied_fails_alone
    supervised(APP) do |server|
      owners = KEYS.group_by { |key| json(server, "/balance/#{key}")["owner"] }.values
      [owners.map(&:first), owners.map(&:last), owners[0], owners[1]].each do |wrong|
        answer = json(server, "/wrong/#{wrong.join(',')}")
        assert_equal wrong.to_h { |key| [key, "Elah::Entity::NotSerializable"] }, answer["failed"]
        assert_equal((KEYS - wrong).to_h { |key| [key, key] }, answer["answers"])
      end
    end
  end

  # All calls of the other worker failed, after they had run: their results had 1 MiB together.
  def test_many_calls_may_have_long_arguments_and_results
    supervised(APP) { |server| assert_equal [100_000] * 80, json(server, "/long/100000")["answers"] }
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
