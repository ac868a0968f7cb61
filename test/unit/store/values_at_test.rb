# frozen_string_literal: true

# Covers Elah::Store#values_at: several values of one moment.
require "test_helper"
require "support/store_case"

module StoreValuesAtCases
  def setup
    super
    @other = @store.table("other")
  end

  def test_values_come_in_the_order_of_their_keys
    @table.put("a", "1")
    @other.put("a", "\xff".b * 70_000)
    assert_equal ["1", "\xff".b * 70_000, nil, "1"],
                 @store.values_at(@table, "a", @other, "a", @table, "b", @table, "a")
    assert_equal Encoding::BINARY, @store.values_at(@table, "a").first.encoding
    assert_equal [nil], @store.values_at(@store.table("never used"), "a")
    assert_equal [], @store.values_at
  end

  def test_what_has_expired_is_not_there
    @table.put("a", "1", ttl: 500)
    let_pass(501)
    assert_equal [nil], @store.values_at(@table, "a")
  end

  def test_bad_arguments
    assert_match(/A key is missing/, assert_raises(ArgumentError) { @store.values_at(@table) }.message)
    assert_raises(Elah::Store::InvalidKey) { @store.values_at(@table, "") }
    assert_raises(TypeError) { @store.values_at("table", "a") }
    assert_raises(TypeError) { @store.values_at(@table, nil) }
    Dir.mktmpdir do |folder|
      another = Elah::Store.open(folder)
      assert_raises(Elah::Store::Error) { @store.values_at(another.table("table"), "a") }
      another.close
    end
    @store.close
    assert_raises(Elah::Store::Closed) { @store.values_at(@table, "a") }
  end

  # Two reads of their own would see the one before a write and the other after it.
  def test_all_are_of_one_moment
    writer = Thread.new do
      200.times do |number|
        @store.transaction do |tx|
          tx.put(@table, "a", number.to_s)
          tx.put(@other, "a", number.to_s)
        end
      end
    end
    pairs = []
    pairs << @store.values_at(@table, "a", @other, "a") while writer.alive?
    writer.join
    assert_empty(pairs.reject { |one, other| one == other })
  end

  def test_gc_stress
    @table.put("a", "1")
    GC.stress = true
    values = @store.values_at(@table, "a", @other, "a")
    GC.stress = false
    assert_equal ["1", nil], values
  ensure
    GC.stress = false
  end
end

StoreCase.on_each_store(StoreValuesAtCases)
