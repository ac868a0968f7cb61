# frozen_string_literal: true

# Covers Elah::Store#transaction: all or nothing, one moment, conflicts.
require "test_helper"
require "support/store_case"

module StoreTransactionCases
  def test_transaction_stores_all_or_nothing
    result = @store.transaction do |tx|
      tx.put(@table, "a", "1")
      tx.put(@table, "b", "2", ttl: 500)
      assert_equal true, tx.put_new(@table, "c", "3")
      assert_equal false, tx.put_new(@table, "c", "4")
      assert_equal true, tx.delete(@table, "a")
      assert_equal 2, tx.increment(@counter, "n", by: 2)
      assert_nil tx.increment(@counter, "n", by: 2, max: 3)
      tx.add(@counter, "n")
      assert_equal 3, tx.get(@counter, "n")
      assert_equal [%w[b 2], %w[c 3]], tx.range(@table)
      assert_nil @table.get("b")
      :value
    end
    assert_equal :value, result
    assert_equal [nil, "2", "3", 3], [@table.get("a"), @table.get("b"), @table.get("c"), @counter.get("n")]
    assert_raises(RuntimeError) { @store.transaction { |tx| tx.put(@table, "a", "9") && raise("no") } }
    catch(:out) { @store.transaction { |tx| tx.put(@table, "a", "9") && throw(:out) } }
    assert_nil @table.get("a")
    let_pass(500)
    assert_nil @table.get("b")
  end

  def test_transaction_sets_a_counter_back_with_what_was_counted_in_memory
    visits = @store.counter("visits", durability: :memory)
    3.times { visits.increment("a") }
    runs = 0
    @store.transaction do |tx|
      visits.increment("a") if (runs += 1) == 1
      tx.put(@table, "a", "gone")
      assert_nil tx.delete(visits, "a")
      assert_equal 0, tx.get(visits, "a")
      tx.add(visits, "a", by: 2)
      assert_equal 3, tx.increment(visits, "a")
    end
    assert_equal [1, 3], [runs, visits.get("a")]
    @store.transaction { |tx| tx.delete(@counter, "a") }
    assert_equal 0, visits.get("a")
  end

  def test_transaction_reads_one_moment_and_runs_again_after_a_conflict
    @table.put("a", "1")
    seen = []
    @store.transaction do |tx|
      seen << tx.get(@table, "a")
      @table.put("a", "2") if seen.size == 1
      seen << tx.get(@table, "a")
      tx.put(@table, "b", seen.last)
    end
    assert_equal %w[1 1 2 2], seen
    assert_equal "2", @table.get("b")
  end

  def test_transaction_sees_what_comes_into_a_range
    runs = 0
    @store.transaction do |tx|
      count = tx.range(@table, prefix: "seat/").size
      @table.put("seat/#{runs}", "taken") if (runs += 1) == 1
      tx.put(@table, "free", (10 - count).to_s)
    end
    assert_equal [2, "9"], [runs, @table.get("free")]
  end

  def test_transaction_gives_up_after_a_number_of_conflicts
    runs = 0
    error = assert_raises(Elah::Store::Conflict) do
      @store.transaction do |tx|
        tx.get(@table, "a")
        @table.put("a", (runs += 1).to_s)
        tx.put(@table, "b", "never")
      end
    end
    assert_equal Elah::Store::ATTEMPTS_MAX, runs
    assert_match(/32 times/, error.message)
    assert_nil @table.get("b")
  end

  def test_contended_transactions_lose_nothing
    20.times.map do
      Thread.new do
        10.times { @store.transaction { |tx| tx.put(@table, "n", ((tx.get(@table, "n") || 0).to_i + 1).to_s) } }
      end
    end.each(&:join)
    assert_equal "200", @table.get("n")
  end

  # On a cluster each fiber began a snapshot of its own, and all but the last kept their connections for ever.
  def test_fibers_of_one_transaction_share_its_snapshot_and_see_each_others_writes
    @table.put("there", "1")
    seen = Elah.run do
      @store.transaction do |tx|
        [in_fibers { tx.get(@table, "there") }, in_fibers { tx.put_new(@table, "new", "") },
         in_fibers { tx.increment(@counter, "n", max: 3) }, in_fibers { tx.delete(@table, "there") }]
      end
    end
    once = { true => 1, false => 4 }
    assert_equal [{ "1" => 5 }, once, { 1 => 1, 2 => 1, 3 => 1, nil => 2 }, once], seen
    assert_equal [[["new", ""]], 3], [@table.range, @counter.get("n")]
  end

  def test_a_transaction_that_is_over_says_so
    kept = @store.transaction { |tx| tx }
    assert_raises(Elah::Store::Closed) { kept.get(@table, "a") }
  end

  def test_tables_and_counters_are_told_apart_without_an_exception
    raised = []
    TracePoint.new(:raise) { |point| raised << point.raised_exception }.enable do
      @store.transaction do |tx|
        assert_equal [nil, 0], [tx.get(@table, "a"), tx.get(@counter, "a")]
        assert_equal [false, nil], [tx.delete(@table, "a"), tx.delete(@counter, "a")]
      end
    end
    assert_empty raised
    [@store, "links", nil].each do |neither|
      assert_raises(TypeError) { @store.transaction { |tx| tx.get(neither, "a") } }
      assert_raises(TypeError) { @store.transaction { |tx| tx.delete(neither, "a") } }
    end
  end

  def test_a_transaction_refuses_tables_of_another_store
    Dir.mktmpdir do |dir|
      other = Elah::Store.open(dir)
      error = assert_raises(Elah::Store::Error) { @store.transaction { |tx| tx.get(other.table("theirs"), "a") } }
      assert_match(/"theirs" belongs to another store/, error.message)
    ensure
      other&.close
    end
  end

  private

  def in_fibers(&block) = Array.new(5) { Elah.async(&block) }.map(&:value).tally
end

StoreCase.on_each_store(StoreTransactionCases)
