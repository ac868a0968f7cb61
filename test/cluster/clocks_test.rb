# frozen_string_literal: true

require "test_helper"
require "support/bank_clients"
require "support/board_clients"
require "support/machines_cluster"
require "support/pool_clients"
require "support/wall_clock"

# The wall clock of one machine is wrong by more than a day, and jumps in both directions under load: owners keep their
# shards, and what is stored expires by the clock of the database.
class ClusterClocksTest < Minitest::Test
  include Patience

  HOURS = 30
  JUMPS = [-HOURS, HOURS, 0].freeze

  APP = BankCluster::APP.sub(/^run Bank$/, <<~RUBY)
    NOTES = STORE.table("notes")
    class Alarm < Elah::Entity
      def woken = state.put("rung", "1")
      def set(seconds) = wake_at(STORE.now + seconds)
      def rung? = !state.get("rung").nil?
    end
    ALARMS = Alarm.in(STORE)
    class Bank
      get("/clock/now") { { stored: STORE.now.to_f, wall: Time.now.to_f } }
      get("/note/:key") { { text: NOTES.get(params[:key]) } }
      post("/note/:key/:seconds") { { written: NOTES.put(params[:key], "here", ttl: params[:seconds].to_i) } }
      get("/alarm/:key") { { rung: ALARMS[params[:key]].rung? } }
      post("/alarm/:key/:seconds") { { set: ALARMS[params[:key]].set(params[:seconds].to_i) } }
    end
    run Bank
  RUBY

  def setup
    obstacle = MachinesCluster.obstacle and skip obstacle
  end

  def test_leases_hold_and_no_call_fails
    with_wrong_clock(BankClients) do |cluster, clock|
      clients = BankClients.run(cluster) { |running| jump(cluster, clock, running) }
      clients.read_all
      assert_equal 0, clients.failures, clients.to_s
      assert_nil clients.violation
    end
  end

  def test_what_is_stored_expires_by_the_clock_of_the_database
    with_wrong_clock(BankClients, app: APP) do |cluster, clock|
      [HOURS, -HOURS].each do |hours|
        clock.jump(hours)
        wrong, right = cluster.servers.map { |server| server.get("/clock/now").json }
        assert_in_delta hours * 3600, wrong["wall"] - right["wall"], 600
        assert_in_delta wrong["stored"], right["stored"], 600
        expire(cluster, hours)
      end
    end
  end

  def test_pools_lend_no_number_inside_its_hold
    with_wrong_clock(PoolClients) do |cluster, clock|
      clients = PoolClients.run(cluster) do |running|
        jump(cluster, clock, running)
        clock.jump(HOURS)
        replace(cluster, running)
      end
      clients.read_all
      assert_nil clients.violation
    end
  end

  def test_a_season_ends_on_all_machines_at_one_moment
    with_wrong_clock(BoardClients, hours: 0) do |cluster, clock|
      boards = create_daily(cluster, 8)
      [*JUMPS, HOURS].each do |hours|
        clock.jump(hours)
        cluster.servers.product(boards).each do |server, board|
          assert_equal %w[ann], server.get("#{board}/top").json["members"].map { |row| row["member"] }
        end
      end
    end
  end

  private

  # @return [Array<String>] boards with a member
  def create_daily(cluster, count)
    clients = BoardClients.run(cluster, each: 0) { nil }
    path = "/games/#{clients.make('/games', name: 'Karts')}/leaderboards"
    Array.new(count) do
      board = "/leaderboards/#{clients.make(path, name: 'Points', season: 'day')}"
      clients.until_known("ann has a score") { clients.request(0, "PUT", "#{board}/members/ann", body: { score: 1 }) }
      board
    end
  end

  def with_wrong_clock(kind, app: kind::APP, hours: HOURS)
    Dir.mktmpdir("elah-clock") do |folder|
      clock = WallClock.new(folder, hours)
      options = { app: app, settings: kind::SETTINGS, under: { 1 => clock.under } }
      MachinesCluster.start(2, **options) { |cluster| yield cluster, clock }
    end
  end

  # The machine whose clock is wrong takes over, and hands over half again.
  def replace(cluster, clients)
    cluster.servers[1].kill
    cluster.wait_until_left(1)
    clients.wait_until_served(20, places: [0])
    cluster.boot(2)
    cluster.wait_until_spread(2)
    clients.wait_until_served(20)
  end

  # After each jump two leases end.
  def jump(cluster, clock, clients)
    before = cluster.members
    JUMPS.each do |hours|
      clock.jump(hours)
      ended_at = monotonic + (2 * AppCluster::OPTIONS[:lease_seconds])
      clients.wait_until_served(20) until monotonic > ended_at
    end
    assert_equal before, cluster.members
  end

  # What is to expire in a second expires, and what is to expire in an hour does not, wherever it was written.
  def expire(cluster, hours)
    cluster.servers.each_with_index do |server, place|
      %w[note alarm].product([1, 3600]).each do |what, seconds|
        server.request("POST", "/#{what}/#{place}#{hours}#{seconds}/#{seconds}")
      end
    end
    cluster.servers.product([0, 1]).each do |server, place|
      wait_until("a note has expired") { server.get("/note/#{place}#{hours}1").json["text"].nil? }
      wait_until("an alarm has rung") { server.get("/alarm/#{place}#{hours}1").json["rung"] }
      assert_equal "here", server.get("/note/#{place}#{hours}3600").json["text"]
      refute server.get("/alarm/#{place}#{hours}3600").json["rung"]
    end
  end
end
