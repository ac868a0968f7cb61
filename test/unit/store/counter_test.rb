# frozen_string_literal: true

# Covers Elah::Store::Counter: on disk and in memory.
require "test_helper"
require "support/store_case"

module StoreCounterCases
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

  # The fraction was cut off.
  def test_what_is_added_is_an_integer
    calls = {
      "by: must be an Integer, not 1.5" => -> { @counter.increment("a", by: 1.5) },
      "by: must be an Integer, not 2.0" => -> { @counter.increment("a", by: 2.0) },
      "by: must be an Integer, not \"1\"" => -> { @counter.increment("a", by: "1") },
      "max: must be an Integer, not 9.5" => -> { @counter.increment("a", max: 9.5) },
      "by: must be an Integer, not 2.5" => -> { @store.transaction { |tx| tx.increment(@counter, "a", by: 2.5) } },
      "max: must be an Integer, not 8.5" => -> { @store.transaction { |tx| tx.increment(@counter, "a", max: 8.5) } },
      "by: must be an Integer, not (1/2)" => -> { @store.transaction { |tx| tx.add(@counter, "a", by: 1/2r) } }
    }
    calls.each { |message, call| assert_equal message, assert_raises(TypeError, &call).message }
    assert_equal 0, @counter.get("a")
  end

  def test_max_is_exact_among_threads
    threads = Array.new(20) { Thread.new { Array.new(10) { @counter.increment("limited", max: 50) } } }
    granted = threads.flat_map(&:value)
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
end

StoreCase.on_each_store(StoreCounterCases)

# The journal is a folder's.
class StoreCounterJournalTest < StoreCase
  def test_counter_in_memory_with_more_keys_than_the_journal_holds
    visits = @store.counter("visits", durability: :memory)
    expected = Hash.new(0)
    60_000.times { |i| visits.increment(key = "a key of usual length #{i % 50_000}") && expected[key] += 1 }
    wrong = expected.reject { |key, count| visits.get(key) == count }
    assert_empty wrong
    @store.flush
    assert_empty(expected.reject { |key, count| visits.get(key) == count })
  end
end
