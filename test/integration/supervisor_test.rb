# frozen_string_literal: true

require "test_helper"
require "support/supervised_case"

# Several workers under one supervisor: what they share.
class SupervisorTest < Minitest::Test
  include SupervisedCase
  def test_connections_spread_over_the_workers
    supervised do |server|
      # While a busy machine lets one of them wait, the other accepts alone.
      wait_until("each has some") do
        clients = Array.new(64) { server.connect }
        shares = clients.map { |client| client.get("/pid").body.to_i }.tally
        shares.keys.sort == worker_pids(server).sort && shares.values.min >= 8
      ensure
        clients&.each(&:close)
      end
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

  # A supervisor has opened nothing yet that a fork would break: a store that the app uses while it is loaded is opened
  # anew.
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

  private

  def limit_descriptors(pid, count) = assert(system("prlimit", "--pid", pid.to_s, "--nofile=#{count}:#{count}"))
end
