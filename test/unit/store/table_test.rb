# frozen_string_literal: true

# Covers Elah::Store::Table: values, ranges and expiry.
require "test_helper"
require "support/store_case"

module StoreTableCases
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
    assert_raises(ArgumentError, "of 5 it yielded 5, of 2000 all") { @table.each(limit: 5) { nil } }
  end

  # It yielded key and value as two values, so `each.map(&:first)` called `first` of the key, unlike that of a Hash.
  def test_each_yields_pairs_as_that_of_a_hash
    entries = { "a" => "A", "b" => "B" }.each { |key, value| @table.put(key, value) }
    [entries, @table].each do |from|
      assert_equal %w[a b], from.each.map(&:first)
      assert_equal %w[aA bB], from.each.map { |key, value| key + value }
      assert_equal [%w[b B]], from.each.select { |entry| entry.last == "B" }
      assert_equal [["a", "A", 0], ["b", "B", 1]], from.each.with_index.map { |(key, value), at| [key, value, at] }
      assert_equal %w[a A], from.each.next
    end
  end

  # It began at the start again, for ever.
  def test_the_block_of_each_may_change_what_it_gets
    %w[p/a p/b p/c].each { |key| @table.put(key, "") }
    keys = []
    @table.each(prefix: "p/", batch: 1) { |entry| keys << entry.first.tap { |key| key.slice!(0, 2) } }
    assert_equal %w[a b c], keys
  end

  # It ended the walk, as if the table had no more entries.
  def test_the_end_of_another_enumerator_is_raised
    3.times { |i| @table.put("k#{i}", "") }
    others = [1, 2].each
    assert_raises(StopIteration) { @table.each { others.next } }
  end

  def test_a_ttl_out_of_its_range_is_refused
    [0, -1, 2**70, 1e300, Float::INFINITY, Float::NAN, "1", Complex(1, 1)].each do |ttl|
      [-> { @table.put("a", "1", ttl: ttl) }, -> { @table.put_new("a", "1", ttl: ttl) },
       -> { @store.transaction { |tx| tx.put(@table, "a", "1", ttl: ttl) } }].each do |call|
        error = assert_raises(ArgumentError) { call.call }
        assert_equal "ttl: must be more than 0 and at most #{Elah::Store::TTL_SECONDS_MAX} seconds, not #{ttl.inspect}",
                     error.message
      end
    end
    @table.put("a", "1", ttl: Elah::Store::TTL_SECONDS_MAX)
    assert_equal "1", @table.get("a")
  end

  def test_a_limit_out_of_its_range_is_refused
    [-1, 2**63, 2**70, 1.5, nil, Float::INFINITY].each do |limit|
      [-> { @table.range(limit: limit) },
       -> { @store.transaction { |tx| tx.range(@table, limit: limit) } }].each do |call|
        assert_equal "limit: must be an Integer from 0 to #{(2**63) - 1}, not #{limit.inspect}",
                     assert_raises(ArgumentError) { call.call }.message
      end
    end
    assert_raises(ArgumentError) { @table.each(batch: 0) { flunk } }
    assert_raises(ArgumentError) { @table.each(batch: 2**70) { flunk } }
    assert_empty @table.range(limit: (2**63) - 1)
  end

  def test_ttl_hides_and_sweeps
    @table.put("a", "1", ttl: 1000)
    @table.put("b", "1", ttl: 2000)
    @table.put("c", "1")
    let_pass(500)
    assert_equal "1", @table.get("a")
    let_pass(500)
    assert_nil @table.get("a")
    assert_equal %w[b c], keys
    assert_equal false, @table.delete("a")
    assert_equal true, @table.put_new("a", "2")
    let_pass(1001)
    assert_equal 3, @table.size
    assert_equal 1, @store.sweep
    assert_equal %w[a c], keys
    assert_equal 2, @table.size
  end

  def test_put_replaces_the_time_of_expiry
    @table.put("a", "1", ttl: 1000)
    @table.put("a", "2", ttl: 3000)
    @table.put("b", "1", ttl: 1000)
    @table.put("b", "2")
    let_pass(1000)
    assert_equal 0, @store.sweep
    assert_equal %w[2 2], [@table.get("a"), @table.get("b")]
    let_pass(2000)
    assert_equal 1, @store.sweep
    assert_equal [nil, "2"], [@table.get("a"), @table.get("b")]
  end

  private

  def keys(**conditions) = @table.range(**conditions).map(&:first)
end

StoreCase.on_each_store(StoreTableCases)
