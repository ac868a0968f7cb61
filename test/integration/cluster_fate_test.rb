# frozen_string_literal: true

require "test_helper"
require "support/bank_cluster"
require "support/cluster_case"
require "support/cutting_proxy"
require "support/entity_case"

# What the caller of an entity learns when the connection to the database breaks after its write was sent.
class ClusterFateTest < ClusterCase
  # How often it was counted.
  class Tally < Elah::Entity
    entity_name "tallies"
    def count
      state.put("count", (state.get("count").to_i + 1).to_s)
      nil
    end
  end

  # How much came in.
  class Total < Elah::Entity
    durability :memory
    def restore = @total = state.get("total").to_i
    def add(number) = (@total += number).to_s.tap { |total| state.put("total", total) }

    def add_after(queue, number)
      queue.pop
      add(number)
    end
  end

  # From which ports comes what waits for a lock of the rows: batches, and ranges that entities read.
  WAITING = "SELECT client_port FROM pg_stat_get_activity(NULL) WHERE datid = (SELECT oid FROM pg_database WHERE " \
            "datname = current_database()) AND wait_event_type = 'Lock' AND query LIKE '%s'"
  BATCHES = format(WAITING, "WITH fence%elah_rows%")
  READS = format(WAITING, "%s.stands%")
  # Which connections of writers wait for the row of one.
  SESSIONS = format(WAITING, "%elah_writers%").sub("client_port", "pid")

  # A transaction sees the activity as it was at its first look, unless it forgets that.
  def self.waiting(sql, what)
    sql.execute("SELECT pg_stat_clear_snapshot()")
    sql.rows(what).flatten
  end

  def setup
    super
    @sql.execute("UPDATE elah_writers SET fenced = true") # of the test before
    @config = Elah.config
    Elah.config = Elah::Config.build(lease_seconds: 2.5, entity_moving_seconds: 30)
  end

  def teardown
    Elah.config = @config
    super
  end

  def test_a_write_may_have_run_when_the_database_has_lost_the_writer
    error = failure { @sql.execute("DELETE FROM elah_writers") }
    assert_match(/has lost this process/, error.message)
    assert_predicate error, :may_have_run?
  end

  def test_a_write_may_have_run_when_the_process_ends_before_the_database_replies
    error = failure(&:leave)
    assert_match(/did not come back before the process ended/, error.message)
    assert_predicate error, :may_have_run?
  end

  def test_a_process_that_ends_asks_what_became_of_its_writes
    through_proxy do |proxy, store, tally|
      cutting(proxy) do
        proxy.bytes_max = nil
        store.leave
      end
      assert_nil tally.count
    end
  end

  # Each connection that waited for the row of the writer stayed when the next one was opened, until there were no more
  # to be had. A statement that waits for a standby holds that row, too.
  def test_a_writer_whose_row_is_locked_leaves_one_connection_behind
    through_proxy do |_, _, tally|
      waiting = []
      locked = Queue.new
      @interference = Thread.new { while_writers_are_locked(locked) { |now| (waiting << now).flatten.uniq.size == 4 } }
      locked.pop
      assert_nil tally.count
      assert_operator waiting.map(&:size).max, :<=, 2
    end
  end

  # The database lets it open no session for a while, during which calls ask for rows again and again.
  def test_a_process_opens_a_session_again_while_calls_come
    with_database_of_its_owner do |owner, store|
      tally = Tally.in(store)["1"]
      Elah.run do
        tally.count
        owner.execute("REVOKE UPDATE ON elah_writers FROM CURRENT_USER")
        call = Elah.async do
          tally.count
        rescue Elah::Store::Unavailable # what the database has refused is not repeated
          retry
        end
        call.wait(0.5) # so that it is refused, and the calls are on
        owner.execute("GRANT UPDATE ON elah_writers TO CURRENT_USER")
        assert_nil call.value
      end
    end
  end

  # The process left its cluster before it sent what calls of the same iteration had left in memory, and calls that
  # ended later returned what nobody stored. Nothing said so.
  def test_what_calls_leave_in_memory_is_stored_before_their_process_leaves
    Elah.config = Elah::Config.build(lease_seconds: 2.5, entity_moving_seconds: 0)
    totals = Total.in(@store)
    Elah.run do
      %w[stays runs comes].each { |key| assert_equal "1", once_owned { totals[key].add(1) } }
      totals.flush
      gate = EntityCase::Gate.new
      running = Elah.async { totals["runs"].add_after(gate, 5) }
      assert_equal "3", totals["stays"].add(2)
      leaving = Elah.async { @store.leave }
      assert_raises(Elah::Entity::Moving) { totals["comes"].add(1) }
      wait_until("it has left, in this iteration") { owned_shards.empty? }
      leaving.wait
      gate.push(true)
      assert_raises(Elah::Entity::Moving) { running.value }
    end
    assert_equal %w[1 1 3], @sql.rows("SELECT convert_from(value, 'UTF8') FROM elah_rows ORDER BY value").flatten
  end

  private

  def owned_shards = (0...@store.placement.shards).select { |shard| @store.placement.term_of(shard).positive? }

  # Tries again until the process has its shards.
  def once_owned
    yield
  rescue Elah::Entity::Moving
    retry
  end

  # One whose owner is no superuser, and so can be refused something.
  def with_database_of_its_owner
    name = "owner_#{object_id}"
    admin = Elah::SQL.new(server.url, connections_max: 1)
    admin.execute("CREATE ROLE #{name} LOGIN PASSWORD 'secret'")
    admin.execute("CREATE DATABASE #{name} OWNER #{name}")
    url = server.url.sub(%r{//[^@]*@}, "//#{name}:secret@").sub(/\w+\z/, name)
    owner = Elah::SQL.new(url, connections_max: 1)
    yield owner, store = Elah::Store.open(url, sweep_seconds: 3600)
  ensure
    [store, owner, admin].each { |opened| opened&.close }
  end

  # What a count raises whose reply was cut off, although it is stored.
  def failure(&after)
    through_proxy do |proxy, store, tally|
      cutting(proxy) { after.call(store) }
      return assert_raises(Elah::Store::Unavailable) { tally.count }
    end
  end

  def through_proxy
    CuttingProxy.start(server.port) do |proxy|
      store = Elah::Store.open(url.sub(server.address, "127.0.0.1:#{proxy.port}"), sweep_seconds: 3600)
      tally = Tally.in(store)["1"]
      tally.count
      yield proxy, store, tally
    ensure
      proxy.bytes_max = nil
      @interference&.join
      store&.close
    end
  end

  # Cuts the next write's reply off, and runs the block when the write is stored.
  def cutting(proxy)
    holds = Queue.new
    @interference = Thread.new do
      ports = hold_rows(holds) { proxy.bytes_max = 0 }
      wait_until("it is stored") { @sql.value("SELECT EXISTS (SELECT FROM elah_rows WHERE value = '2')") }
      wait_until("the reply is cut off") { ports.any? { |port| proxy.cut?(port) } }
      yield
    ensure
      proxy.bytes_max = nil
    end
    holds.pop
  end

  # Until the block says of the connections that wait that it has seen enough.
  def while_writers_are_locked(locked)
    @sql.transaction do |tx|
      tx.execute("SELECT writer FROM elah_writers WHERE NOT fenced FOR UPDATE")
      locked << true
      wait_until("four connections have waited") { yield ClusterFateTest.waiting(tx, SESSIONS) }
    end
  end

  def hold_rows(holds)
    @sql.transaction do |tx|
      tx.execute("LOCK TABLE elah_rows IN SHARE MODE")
      holds << true
      ports = nil
      wait_until("the write was sent") { (ports = ClusterFateTest.waiting(tx, BATCHES)).any? }
      yield
      ports
    end
  end
end

# Calls of another process that reach one which leaves: nothing of them is stored there, and the next owner runs them.
class ClusterLeavingTest < Minitest::Test
  include Patience

  KEYS = Array.new(24) { |number| "account#{number}" }.freeze

  def test_calls_that_wait_for_rows_are_made_again_at_the_next_owner
    BankCluster.start(lease_seconds: 10, drain_seconds: 50) do |cluster|
      one, two = cluster.servers
      cluster.wait_until_spread(two, 2)
      keys = new_keys_of(keys_of(one))
      calls = nil
      while_rows_are_held(cluster) do |sql|
        calls = keys.map { |key| Thread.new { cluster.deposit(two, key, 10) } }
        wait_until("a read waits") { ClusterFateTest.waiting(sql, ClusterFateTest::READS).any? }
        one.stop
      end
      assert_equal [201], calls.map(&:value).uniq, two.log
      assert_equal cluster.confirmed, cluster.balances(two)
    end
  end

  private

  def keys_of(server) = KEYS.select { |key| server.get("/#{key}").json["pid"] == server.pid }

  # Keys of the same shards, which nobody has in memory.
  def new_keys_of(known)
    shards = known.map { |key| shard(key) }
    Array.new(500) { |number| "new#{number}" }.select { |key| shards.include?(shard(key)) }.first(4)
  end

  def shard(key) = Elah::Shards.of(key, BankCluster::OPTIONS[:shards])

  def while_rows_are_held(cluster)
    sql = Elah::SQL.new(cluster.database.url, connections_max: 1)
    sql.transaction do |tx|
      tx.execute("LOCK TABLE elah_rows IN ACCESS EXCLUSIVE MODE")
      yield tx
    end
  ensure
    sql&.close
  end
end
