# frozen_string_literal: true

# What a store on a database has of its own: its clock, the sweeper, and transactions against everything that other
# connections do.
require "test_helper"
require "support/cluster_case"

class StoreClusterTest < ClusterCase
  def test_the_time_is_that_of_the_database_and_does_not_go_back
    before = database_ms
    times = Array.new(1000) { @store.now }
    assert_equal times.sort, times
    assert_operator milliseconds(times.last), :<=, database_ms
    assert_operator milliseconds(times.last), :>=, before
  end

  def test_expired_entries_are_removed_in_the_background_by_whoever_comes_first
    stores = Array.new(3) { Elah::Store.open(url, sweep_seconds: 0.01) }
    2500.times.each_slice(500) do |numbers|
      @store.transaction { |tx| numbers.each { |number| tx.put(@table, number.to_s, "", ttl: 1000) } }
    end
    @table.put("stays", "")
    assert_equal 2501, @table.size
    stores.each { |store| store.table("links").get("stays") }
    let_pass(1000)
    wait_until("they are removed") { @table.size == 1 }
    assert_equal [["stays", ""]], @table.range
  ensure
    stores&.each(&:close)
  end

  def test_two_handles_of_one_counter_are_one_in_a_transaction
    same = @store.counter("visits", durability: :memory)
    @store.transaction do |tx|
      tx.add(@counter, "a", by: 2)
      assert_equal 2, tx.get(same, "a")
      assert_equal 5, tx.increment(same, "a", by: 3)
      tx.delete(@counter, "b")
      tx.add(same, "b")
    end
    assert_equal [5, 1], [@counter.get("a"), same.get("b")]
  end

  def test_a_sum_that_does_not_fit_stores_nothing_of_the_transaction
    @counter.increment("a", by: (2**63) - 2)
    error = assert_raises(Elah::Store::Overflow) do
      @store.transaction do |tx|
        tx.put(@table, "a", "1")
        tx.add(@counter, "b")
        tx.add(@counter, "a", by: 3)
      end
    end
    assert_match(/A counter at 9223372036854775806 cannot be changed by 3/, error.message)
    assert_equal [nil, 0], [@table.get("a"), @counter.get("b")]
  end

  # Each kind of write by somebody else, against a transaction that has read what it changes.
  {
    put: ->(test) { test.table.put("seen", "other") }, delete: ->(test) { test.table.delete("seen") },
    put_new: ->(test) { test.table.put_new("absent", "") }, increment: ->(test) { test.counter.increment("seen") },
    reset: ->(test) { test.counter.delete("seen") }, expiry: ->(test) { test.let_pass(1000) },
    transaction: ->(test) { test.store.transaction { |tx| tx.put(test.table, "seen", "other") } },
    come_into_the_range: ->(test) { test.table.put("range/2", "") },
    leave_the_range: ->(test) { test.table.delete("range/1") }
  }.each do |name, change|
    define_method(:"test_a_transaction_runs_again_after_#{name}") do
      @table.put("seen", "1", ttl: 1000)
      @table.put("range/1", "1")
      @counter.increment("seen")
      runs = 0
      @store.transaction do |tx|
        tx.get(@table, "seen")
        tx.get(@table, "absent")
        tx.get(@counter, "seen")
        tx.range(@table, prefix: "range/")
        change.call(self) if (runs += 1) == 1
        tx.put(@table, "written", "")
      end
      assert_equal 2, runs
    end
  end

  def test_preloaded_keys_take_one_round_trip_and_only_those_that_are_used_count_as_read
    keys = Array.new(40) { |number| "k#{number}" }
    keys.first(20).each { |key| @table.put(key, "old") }
    reads = runs = 0
    trace = TracePoint.new(:call) { |point| reads += 1 if point.method_id == :snapshot }
    @store.transaction do |tx|
      runs += 1
      trace.enable do
        tx.preload(*keys.flat_map { |key| [@table, key] })
        assert_equal ["old"] * 19 + [nil] * 19, [*keys.first(19), *keys.last(19)].map { |key| tx.get(@table, key) }
        refute tx.put_new(@table, keys[19], "new")
      end
      @table.put(keys[20], "of another") if runs == 1 # which this one does not read
      @table.put(keys[0], "old") if runs == 1 # the same again
      @table.put(keys[39], "of another").then { @table.delete(keys[39]) } if runs == 1
      tx.put(@table, "sum", "1")
    end
    assert_equal [1, 1], [reads, runs]
    @store.transaction do |tx|
      tx.preload(@table, "k1")
      tx.put(@table, "sum", tx.get(@table, "k1"))
      @table.put("k1", "new") if (runs += 1) == 2
    end
    assert_equal [3, "new"], [runs, @table.get("sum")]
  end

  def test_what_a_transaction_has_not_read_does_not_make_it_run_again
    %w[a b c d].each { |key| @table.put(key, "1") }
    runs = 0
    @store.transaction do |tx|
      runs += 1
      tx.range(@table, limit: 2)
      tx.range(@table, from: "d", limit: 1, reverse: true)
      tx.put(@table, "blind", "mine")
      tx.add(@counter, "blind")
      %w[c bb].each { |key| @table.put(key, "other") }
      @table.put("blind", "other")
      @counter.increment("blind", by: 5)
    end
    assert_equal [1, "mine", 6], [runs, @table.get("blind"), @counter.get("blind")]
  end

  # Two of these that ran side by side would leave nobody on call.
  def test_transactions_that_read_what_the_other_writes_are_as_one_after_the_other
    40.times do
      %w[ann bob].each { |name| @table.put("on call/#{name}", "yes") }
      %w[ann bob].map do |name|
        Thread.new do
          @store.transaction do |tx|
            tx.delete(@table, "on call/#{name}") if tx.range(@table, prefix: "on call/").size > 1
          end
        end
      end.each(&:join)
      assert_equal 1, @table.range(prefix: "on call/").size
    end
  end

  # Plain writes are part of the order too: once the shop is closed, no order may come in.
  def test_a_plain_write_stands_in_the_same_order
    40.times do |round|
      @table.delete("closed")
      selling = Thread.new do
        @store.transaction { |tx| tx.get(@table, "closed") || tx.put(@table, "order/#{round}", "") }
      end
      @table.put("closed", "yes")
      sold = @table.get("order/#{round}")
      selling.join
      assert_equal [sold], [@table.get("order/#{round}")]
    end
  end

  # A commit that has checked what it read, and is not visible yet, holds up those who would change that.
  {
    put: ->(test) { test.table.put("seen", "other") }, put_new: ->(test) { test.table.put_new("absent", "other") },
    delete: ->(test) { test.table.delete("seen") }, put_in_the_range: ->(test) { test.table.put("range/2", "") },
    increment: ->(test) { test.counter.increment("seen", by: 2) }, reset: ->(test) { test.counter.delete("seen") },
    increment_up_to: ->(test) { test.counter.increment("seen", by: 2, max: 1) }
  }.each do |name, change|
    define_method(:"test_#{name}_waits_for_a_commit_that_has_read_the_same") do
      @table.put("seen", "1")
      @counter.increment("seen", by: -5)
      committing(name == :put_in_the_range) do
        writer = Thread.new { change.call(self) }
        wait_until("it waits, or has not waited") { waiting == 1 || !writer.alive? }
        assert_predicate writer, :alive?
        writer
      end.join
    end
  end

  def test_fibers_of_one_loop_share_the_connections
    Elah.run do
      Array.new(30) do
        Elah.async do
          3.times { @store.transaction { |tx| tx.put(@table, "n", (tx.get(@table, "n").to_i + 1).to_s) } }
          @counter.increment("n")
        end
      end.each(&:wait)
    end
    assert_equal ["90", 30], [@table.get("n"), @counter.get("n")]
  end

  def test_a_transaction_that_is_cancelled_stores_nothing_and_returns_its_connection
    narrow = Elah::Store.open(url, sweep_seconds: 3600, connections_max: 1, pool_seconds: patience_seconds)
    table = narrow.table("links")
    Elah.run do
      assert_raises(Timeout::Error, Elah::Cancelled) do
        Timeout.timeout(0.05) do
          narrow.transaction do |tx|
            tx.put(table, "a", tx.get(table, "a").to_s)
            Queue.new.pop
          end
        end
      end
      assert_nil table.get("a")
      assert_equal true, table.put("b", "1")
    end
  ensure
    narrow&.close
  end

  def test_fibers_of_one_transaction_share_its_connection
    narrow = Elah::Store.open(url, sweep_seconds: 3600, connections_max: 1, pool_seconds: 0.2)
    table = narrow.table("links")
    Elah.run do
      narrow.transaction { |tx| Array.new(5) { Elah.async { tx.get(table, "a") } }.each(&:value) }
      assert_equal true, table.put("a", "1")
    end
  ensure
    narrow&.close
  end

  # Its fiber kept the connection of a snapshot that nobody rolled back, or was told that it had written.
  def test_a_fiber_that_outlives_its_transaction_leaves_nothing_behind
    narrow = Elah::Store.open(url, sweep_seconds: 3600, connections_max: 1, pool_seconds: patience_seconds)
    table = narrow.table("links")
    Elah.run do
      table.get("a")
      late = narrow.transaction { |tx| Elah.async { tx.put_new(table, "a", "1") } }
      assert_raises(Elah::Store::Closed) { late.value }
      assert_equal true, table.put_new("a", "2")
    end
  ensure
    narrow&.close
  end

  def test_a_transaction_that_is_the_first_to_use_a_table_needs_one_connection
    narrow = Elah::Store.open(url, sweep_seconds: 3600, connections_max: 1, pool_seconds: 0.2)
    table = narrow.table("first used in a transaction")
    counter = narrow.counter("first used in a transaction")
    seen = narrow.transaction do |tx|
      was = [tx.get(table, "a"), tx.range(table), tx.get(counter, "a")]
      tx.put(table, "a", "1")
      tx.add(counter, "a", by: 2)
      [was, tx.get(table, "a"), tx.range(table), tx.get(counter, "a")]
    end
    assert_equal [[nil, [], 0], "1", [%w[a 1]], 2], seen
    assert_equal ["1", 2], [table.get("a"), counter.get("a")]
  ensure
    narrow&.close
  end

  def test_a_table_of_a_transaction_that_fails_is_usable_afterwards
    table = @store.table("of a failed transaction")
    assert_raises(RuntimeError) { @store.transaction { |tx| tx.put(table, "a", "1") && raise("no") } }
    assert_nil table.get("a")
    table.put("b", "2")
    assert_equal [%w[b 2]], @store.table("of a failed transaction").range
  end

  # The snapshot is older than the table and the counter.
  def test_a_transaction_runs_again_after_others_have_created_what_it_has_found_missing
    table = @store.table("created in the meantime")
    counter = @store.counter("created in the meantime")
    other = open_again
    runs = 0
    @store.transaction do |tx|
      tx.get(@table, "a")
      if (runs += 1) == 1
        other.table(table.name).put("a", "other")
        other.counter(counter.name).increment("a", by: 5)
        assert_equal [nil, 0], [tx.get(table, "a"), tx.get(counter, "a")]
      end
      tx.put(table, "b", "#{tx.get(table, 'a')} #{tx.get(counter, 'a')}")
    end
    assert_equal [2, "other 5"], [runs, table.get("b")]
  ensure
    other&.close
  end

  # Processes, each with its connections, move money to and fro and add it up.
  TRANSFERS = <<~RUBY
    require "elah"
    store = Elah::Store.open(ARGV[0])
    table = store.table("accounts")
    random = Random.new(ARGV[1].to_i)
    wrong = 0
    60.times do
      from, to = Array.new(2) { random.rand(5) }
      store.transaction do |tx|
        wrong += 1 unless tx.range(table).sum { |_, amount| amount.to_i } == 500
        left = tx.get(table, from.to_s).to_i - 1
        tx.put(table, from.to_s, left.to_s)
        tx.put(table, to.to_s, (tx.get(table, to.to_s).to_i + 1).to_s)
      end
    end
    exit(wrong)
  RUBY

  def test_processes_that_write_the_same_rows_lose_nothing
    accounts = @store.table("accounts")
    5.times { |number| accounts.put(number.to_s, "100") }
    lib = File.expand_path("../../../lib", __dir__)
    children = Array.new(4) { |seed| Process.spawn(RbConfig.ruby, "-I#{lib}", "-e", TRANSFERS, url, seed.to_s) }
    assert_equal [0] * 4, children.map { |child| Process.wait2(child).last.exitstatus }
    assert_equal 500, accounts.range.sum { |_, amount| amount.to_i }
  end

  def test_a_large_transaction_and_large_values
    value = Random.bytes(3 * 1024**2)
    @store.transaction { |tx| 5.times { |number| tx.put(@table, "large/#{number}", value) } }
    assert_equal [value] * 5, @table.range(prefix: "large/").map(&:last)
    @store.transaction { |tx| 20_000.times { |number| tx.put(@table, "many/#{number}", "") } }
    runs = 0
    @store.transaction do |tx|
      runs += 1
      assert_equal 20_000, tx.range(@table, prefix: "many/", limit: 100_000).size
      500.times { |number| assert_equal true, tx.delete(@table, "many/#{number}") }
    end
    assert_equal [1, 19_505], [runs, @table.size]
  end

  # A failover to an asynchronous standby, or an older dump, may lose a name. Writes went on under the lost number, or
  # under one that had become another table's, and nobody else saw them.
  def test_names_that_the_database_has_lost_get_new_numbers
    counter = @store.counter("visits")
    @table.put("a", "1")
    counter.increment("a")
    @store.transaction { |tx| [tx.put(@table, "b", "2"), tx.increment(counter, "b")] }
    lose = lambda do
      %w[elah_rows elah_counts elah_tables elah_counters].each { |relation| @sql.execute("DELETE FROM #{relation}") }
      @sql.execute("INSERT INTO elah_tables (tbl, name) OVERRIDING SYSTEM VALUE VALUES (?, 'others')", @table.id)
    end
    lose.call
    assert_equal [nil, 0, []], [@table.get("a"), counter.get("a"), @table.range]
    assert_equal [true, 1], [@table.put("a", "3"), counter.increment("a")]
    lose.call
    @store.transaction { |tx| [tx.put(@table, "b", "4"), tx.increment(counter, "b")] }
    other = open_again
    assert_equal [[%w[b 4]], 1, []],
                 [other.table(@table.name).range, other.counter("visits").get("b"), other.table("others").range]
  ensure
    other&.close
  end

  def test_the_database_walks_an_index_for_a_range
    @sql.execute("INSERT INTO elah_rows (tbl, key, value) SELECT ?, int8send(n), '' FROM generate_series(1, 20000) n",
                 @table.id)
    @sql.execute("ANALYZE elah_rows")
    @sql.transaction do |tx|
      tx.execute("SET LOCAL plan_cache_mode = force_generic_plan")
      tx.execute("SET LOCAL elah.now = 0")
      Elah::Store::Cluster::Table.const_get(:RANGES).values.each_with_index do |statement, index|
        tx.execute("PREPARE walk_#{index} (text, bytea, bytea, bigint) AS #{statement}")
        plan = tx.rows("EXPLAIN EXECUTE walk_#{index} ('#{@table.name}', '\\x00', '\\xff', 10)").join("\n")
        assert_match(/Index Scan.*using elah_rows_pkey/, plan)
        assert_match(/Index Cond: .*tbl = .*key >= .*key < /, plan)
        refute_match(/Sort|Seq Scan/, plan)
      end
    end
  end

  # It saw an entry that had expired beside the one that replaced it: the time was that of BEGIN, and the snapshot was
  # taken later.
  def test_a_transaction_reads_by_the_time_of_its_snapshot
    other = open_again
    sql = @store.database.read { |client| client }
    replace = lambda do |_transaction|
      nil while other.table(@table.name).get("m1")
      other.table(@table.name).put("m2", "")
    end
    sql.define_singleton_method(:begin) { |**options| super(**options).tap(&replace) }
    @table.put("m1", "", ttl: 0.05)
    assert_operator @store.transaction { |tx| tx.range(@table, prefix: "m") }.size, :<=, 1
  ensure
    other&.close
  end

  attr_reader :store, :table, :counter

  private

  # Runs the block while a commit is under way that has read two keys, a count, and perhaps a range.
  def committing(with_range)
    reader = Elah::SQL.new(url, connections_max: 1)
    attempt = @store.send(:begin_attempt, false)
    attempt.get(@table, "seen")
    attempt.get(@table, "absent")
    attempt.get(@counter, "seen")
    attempt.range(@table, prefix: "range/") if with_range
    attempt.put(@table, "written", "")
    attempt.send(:give_up)
    parts = %i[@reads @entries @changes].map { |part| attempt.instance_variable_get(part) }
    reader.transaction(isolation: :read_committed) do |tx|
      assert_equal true, Elah::Store::Cluster.const_get(:Commit).new(*parts).run(tx)
      yield
    end
  ensure
    reader.close
  end

  # How many connections wait for an advisory lock.
  def waiting = @sql.value("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")

  def database_ms = @sql.value("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")

  def milliseconds(time) = (time.to_r * 1000).to_i
end
