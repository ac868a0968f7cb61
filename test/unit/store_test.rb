# frozen_string_literal: true

# Covers Elah::Store from Ruby: arguments, answers and errors of tables, counters and transactions, and forks.
require_relative "../test_helper"
require "fileutils"
require "tmpdir"

class StoreTest < Minitest::Test
  def setup
    @dir = Dir.mktmpdir("elah-store")
    @clock = Elah::Store::Clock.new(Time.at(1_000_000))
    @store = Elah::Store.open(@dir, clock: @clock, bytes_max: 64 * 1024**2, sweep_seconds: 3600)
    @table = @store.table("links")
    @counter = @store.counter("visits")
  end

  def teardown
    @store.close
    FileUtils.remove_entry(@dir)
  end

  def test_put_get_delete
    assert_nil @table.get("a")
    assert_equal true, @table.put("a", "1")
    assert_equal "1", @table.get("a")
    assert_equal true, @table.put("a", "2")
    assert_equal "2", @table.get("a")
    assert_equal true, @table.delete("a")
    assert_equal false, @table.delete("a")
    assert_nil @table.get("a")
  end

  def test_values_are_binary_and_of_any_bytes
    value = (0..255).to_a.pack("C*") * 300
    @table.put("\x00\xff\n", value)
    assert_equal value, @table.get("\x00\xff\n".b)
    assert_equal Encoding::BINARY, @table.get("\x00\xff\n").encoding
    @table.put("empty", "")
    assert_equal "", @table.get("empty")
  end

  def test_put_new_is_decided_by_the_writer
    assert_equal true, @table.put_new("a", "1")
    assert_equal false, @table.put_new("a", "2")
    assert_equal "1", @table.get("a")
    results = Array.new(16) { |i| Thread.new { @table.put_new("contended", i.to_s) } }.map(&:value)
    assert_equal 1, results.count(true)
    assert_equal results.index(true).to_s, @table.get("contended")
  end

  def test_size_counts_keys
    @table.put("a", "1")
    @table.put("a", "2")
    @table.put("b", "1")
    @table.delete("a")
    @table.delete("a")
    assert_equal 1, @table.size
  end

  def test_tables_and_counters_of_one_name_are_apart
    @store.table("same").put("k", "v")
    @store.counter("same").increment("k", by: 3)
    assert_equal ["v", 3, nil], [@store.table("same").get("k"), @store.counter("same").get("k"), @table.get("k")]
  end

  def test_range_conditions
    %w[a b ba bb c d].each { |key| @table.put(key, key.upcase) }
    assert_equal %w[a b ba bb c d], keys
    assert_equal %w[b ba bb], keys(prefix: "b")
    assert_equal %w[bb ba b], keys(prefix: "b", reverse: true)
    assert_equal %w[b ba], keys(from: "b", to: "bb")
    assert_equal %w[ba bb], keys(after: "b", limit: 2)
    assert_equal %w[ba b], keys(after: "bb", reverse: true, limit: 2)
    assert_equal %w[bb], keys(prefix: "b", after: "ba")
    assert_equal [], keys(from: "c", to: "b")
    assert_equal [], keys(prefix: "x")
    assert_equal [], keys(limit: 0)
    assert_equal [%w[a A]], @table.range(limit: 1)
  end

  def test_range_with_a_prefix_of_the_highest_bytes
    ["\xfe", "\xff", "\xff\xff", "\xff\xff\x01"].each { |key| @table.put(key, "") }
    assert_equal 3, keys(prefix: "\xff").size
    assert_equal 2, keys(prefix: "\xff\xff").size
  end

  def test_each_reads_page_by_page
    expected = Array.new(25) { |i| format("k%02d", i) }
    expected.each { |key| @table.put(key, "") }
    assert_equal expected, @table.each(batch: 10).map { |key, _| key }
    assert_equal expected.reverse, @table.each(batch: 5, reverse: true).map { |key, _| key }
    assert_equal expected[10, 10], @table.each(prefix: "k1", batch: 3).map { |key, _| key }
  end

  def test_ttl_hides_and_sweeps
    @table.put("a", "1", ttl: 10)
    @table.put("b", "1", ttl: 20)
    @table.put("c", "1")
    @clock.advance(9.999)
    assert_equal "1", @table.get("a")
    @clock.advance(0.001)
    assert_nil @table.get("a")
    assert_equal %w[b c], keys
    assert_equal false, @table.delete("a")
    assert_equal true, @table.put_new("a", "2")
    @clock.advance(1000)
    assert_equal 3, @table.size
    assert_equal 1, @store.sweep
    assert_equal %w[a c], keys
    assert_equal 2, @table.size
  end

  def test_put_replaces_the_time_of_expiry
    @table.put("a", "1", ttl: 10)
    @table.put("a", "2", ttl: 30)
    @table.put("b", "1", ttl: 10)
    @table.put("b", "2")
    @clock.advance(10)
    assert_equal 0, @store.sweep
    assert_equal %w[2 2], [@table.get("a"), @table.get("b")]
    @clock.advance(20)
    assert_equal 1, @store.sweep
    assert_equal [nil, "2"], [@table.get("a"), @table.get("b")]
  end

  def test_counter_on_disk
    assert_equal 0, @counter.get("a")
    assert_equal 1, @counter.increment("a")
    assert_equal 6, @counter.increment("a", by: 5)
    assert_equal 4, @counter.increment("a", by: -2)
    assert_nil @counter.increment("a", by: 7, max: 10)
    assert_equal 10, @counter.increment("a", by: 6, max: 10)
    assert_equal 10, @counter.get("a")
    assert_equal true, @counter.delete("a")
    assert_equal false, @counter.delete("a")
    assert_equal 0, @counter.get("a")
  end

  def test_max_is_exact_among_threads
    granted = Array.new(20) { Thread.new { Array.new(10) { @counter.increment("limited", max: 50) } } }.flat_map(&:value)
    assert_equal (1..50).to_a, granted.compact.sort
    assert_equal 50, @counter.get("limited")
  end

  def test_counter_in_memory
    visits = @store.counter("visits", durability: :memory)
    assert_equal((1..5).to_a, Array.new(5) { visits.increment("a") })
    assert_equal 8, visits.increment("a", by: 3)
    assert_equal [8, 8], [visits.get("a"), @counter.get("a")]
    @store.flush
    assert_equal 8, visits.get("a")
    assert_equal 9, visits.increment("a")
    assert_equal 10, @counter.increment("a"), "an increment on disk comes after those in memory"
    assert_equal true, visits.delete("a")
    assert_equal 0, visits.get("a")
    assert_equal 1, visits.increment("a")
  end

  def test_counter_in_memory_with_more_keys_than_the_journal_holds
    visits = @store.counter("visits", durability: :memory)
    expected = Hash.new(0)
    60_000.times { |i| visits.increment(key = "a key of usual length #{i % 50_000}") && expected[key] += 1 }
    wrong = expected.reject { |key, count| visits.get(key) == count }
    assert_empty wrong
    @store.flush
    assert_empty(expected.reject { |key, count| visits.get(key) == count })
  end

  def test_counter_overflow
    max = 2**63 - 1
    assert_equal max, @counter.increment("a", by: max)
    error = assert_raises(Elah::Store::Overflow) { @counter.increment("a") }
    assert_match(/9223372036854775807 cannot be changed by 1/, error.message)
    memory = @store.counter("visits", durability: :memory)
    assert_raises(Elah::Store::Overflow) { memory.increment("a") }
    assert_equal max - 1, memory.increment("a", by: -1)
    assert_equal max, memory.increment("a")
    assert_raises(Elah::Store::Overflow) { memory.increment("a") }
    assert_equal max, @counter.get("a")
  end

  def test_transaction_stores_all_or_nothing
    result = @store.transaction do |tx|
      tx.put(@table, "a", "1")
      tx.put(@table, "b", "2", ttl: 5)
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
    @clock.advance(5)
    assert_nil @table.get("b")
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

  def test_a_transaction_that_is_over_says_so
    kept = @store.transaction { |tx| tx }
    assert_raises(Elah::Store::Closed) { kept.get(@table, "a") }
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

  def test_wrong_arguments_name_the_right_ones
    long = assert_raises(Elah::Store::InvalidKey) { @table.put("k" * 481, "") }
    assert_equal "A key of 481 bytes is too long; it may have up to 480.", long.message
    assert_raises(Elah::Store::InvalidKey) { @table.get("") }
    assert_raises(Elah::Store::InvalidKey) { @counter.increment("") }
    assert_raises(Elah::Store::InvalidKey) { @store.table("") }
    assert_equal true, @table.put("k" * 480, "fits", ttl: 1)
    assert_raises(TypeError) { @table.put(:symbol, "") }
    assert_raises(TypeError) { @table.put("a", 1) }
    assert_match(/more than 0 seconds, not 0/, assert_raises(ArgumentError) { @table.put("a", "", ttl: 0) }.message)
    assert_match(/:disk or :memory, not :ram/, assert_raises(ArgumentError) { @store.counter("c", durability: :ram) }.message)
    assert_match(/:disk or :memory, not "ram"/, assert_raises(ArgumentError) { @counter.increment("c", durability: :ram) }.message)
    assert_match(/max: needs/, assert_raises(ArgumentError) { @counter.increment("c", max: 1, durability: :memory) }.message)
  end

  def test_too_large
    assert_raises(Elah::Store::TooLarge) { @table.put("a", "x" * (64 * 1024**2 + 1)) }
    names = Array.new(1024) { |i| @store.table("t#{i}") }
    @store.transaction { |tx| names.each { |table| tx.put(table, "a", "") } }
    assert_raises(Elah::Store::TooLarge) { @store.table("one more").put("a", "") }
    assert_equal "", @store.table("t1023").get("a")
  end

  def test_closed
    @store.close
    assert_equal true, @store.closed?
    [-> { @table.get("a") }, -> { @table.put("a", "1") }, -> { @counter.increment("a") }, -> { @store.sweep },
     -> { @store.transaction { nil } }].each { |call| assert_raises(Elah::Store::Closed, &call) }
  end

  def test_a_process_opens_a_directory_once
    again = Elah::Store.open(@dir, bytes_max: 64 * 1024**2)
    again.table("links").put("a", "1")
    @store.close
    assert_equal "1", again.table("links").get("a")
    error = assert_raises(Elah::Store::CannotOpen) { Elah::Store.open(@dir, bytes_max: 1024**3) }
    assert_match(/has it open with a bytes_max of 67108864, not 1073741824/, error.message)
  ensure
    again&.close
  end

  def test_both_sides_of_a_fork_go_on
    visits = @store.counter("visits", durability: :memory)
    visits.increment("n")
    child = fork do
      visits.increment("n")
      @table.put("child", "1")
      @store.close
      exit!(0)
    end
    assert Process.wait2(child).last.success?
    assert_equal ["1", 2], [@table.get("child"), visits.get("n")]
    assert_equal 3, visits.increment("n")
  end

  def test_a_daemon_goes_on
    @table.put("a", "1")
    output, input = IO.pipe
    Process.wait(fork do
      @table.put("b", "2")
      Process.daemon(true, true)
      @table.put("c", [@table.get("a"), @table.get("b")].join)
      input.write(@table.get("c"))
      exit!(0)
    end)
    input.close
    assert_equal "12", output.read
    assert_equal "12", @table.get("c")
  end

  def test_survives_gc_stress
    GC.stress = true
    @table.put("a", "1")
    assert_equal [%w[a 1]], @table.range
    assert_equal 1, @store.counter("visits", durability: :memory).increment("a")
    @store.transaction { |tx| tx.put(@table, "b", tx.get(@table, "a")) }
  ensure
    GC.stress = false
    assert_equal "1", @table.get("b")
  end

  private

  def keys(**conditions) = @table.range(**conditions).map(&:first)
end
