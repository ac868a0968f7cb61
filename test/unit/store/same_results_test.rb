# frozen_string_literal: true

# Covers that a store in a folder and one on a database give the same results: both run the same random programs of
# calls, with keys that touch each other's bounds, and every result is compared. SEED repeats a program.
require "test_helper"
require "support/store_case"
require "support/cluster_case"

class StoreSameResultsTest < ClusterCase
  PROGRAMS = 12
  CALLS = 60
  KEYS = ["a", "a\0", "a\0\0", "aa", "ab", "b", "\x00", "\xfe", "\xff", "\xff\xff", "\xff\xff\x01", "z"].map(&:b).freeze
  BOUNDS = [*KEYS, nil, nil, nil, "".b, "c".b, "\xff\xfe".b].freeze
  COUNTS = [0, 1, -1, 7, (2**63) - 1, -(2**63)].freeze

  def test_random_programs_give_the_same_results
    first = Integer(ENV.fetch("SEED", Random.new_seed % 1_000_000))
    (first...(first + PROGRAMS)).each { |seed| compare(seed) }
  end

  private

  def compare(seed)
    Dir.mktmpdir do |folder|
      @sql.execute("TRUNCATE elah_rows, elah_counts")
      embedded = Elah::Store.open(folder, bytes_max: 1024**3, sweep_seconds: 3600)
      program = Random.new(seed)
      CALLS.times do |number|
        call_seed = program.rand(2**32)
        results = [embedded, @store].map { |store| [outcome { call(store, Random.new(call_seed)) }] }
        assert_equal(*results, "call #{number} of SEED=#{seed}")
      end
      assert_equal(*[embedded, @store].map { |store| all(store) }, "the end of SEED=#{seed}")
    ensure
      embedded&.close
    end
  end

  def outcome
    yield
  rescue Elah::Store::Overflow => e
    e.class # of several counters that overflow in one transaction, either is named
  rescue Elah::Store::Error => e
    [e.class, e.message]
  end

  def all(store)
    %w[one two].map do |name|
      [store.table(name).range, store.table(name).size, KEYS.map { |key| store.counter(name).get(key) }]
    end
  end

  def call(store, random)
    return transaction(store, random) if random.rand(4).zero?

    table = store.table(one_of_two(random))
    counter = store.counter(one_of_two(random))
    case random.rand(9)
    when 0 then table.put(key(random), value(random))
    when 1 then table.put_new(key(random), value(random))
    when 2 then table.delete(key(random))
    when 3 then table.get(key(random))
    when 4 then table.range(**range(random))
    when 5 then table.each(batch: random.rand(1..4), **range(random).except(:limit)).to_a
    when 6 then counter.increment(key(random), **counting(random))
    when 7 then counter.delete(key(random))
    else store.values_at(table, key(random), store.table(one_of_two(random)), key(random))
    end
  end

  # Several calls, the last of which may break it off.
  def transaction(store, random)
    store.transaction do |tx|
      results = Array.new(random.rand(1..8)) { transaction_call(store, tx, random) }
      break [:left, results] if random.rand(5).zero?

      results
    end
  end

  def transaction_call(store, tx, random)
    table = store.table(one_of_two(random))
    counter = store.counter(one_of_two(random))
    case random.rand(10)
    when 0 then tx.put(table, key(random), value(random))
    when 1 then tx.put_new(table, key(random), value(random))
    when 2 then tx.delete(table, key(random))
    when 3 then tx.get(table, key(random))
    when 4 then tx.range(table, **range(random))
    when 5 then tx.increment(counter, key(random), **counting(random))
    when 6 then tx.add(counter, key(random), by: COUNTS.sample(random: random))
    when 7 then tx.delete(counter, key(random))
    when 8 then tx.preload(*Array.new(3) { [store.table(one_of_two(random)), key(random)] }.flatten)
    else tx.get(counter, key(random))
    end
  end

  def one_of_two(random) = %w[one two].sample(random: random)
  def key(random) = KEYS.sample(random: random)
  def value(random) = random.bytes(random.rand(4))

  def range(random)
    prefix, from, to, after = Array.new(4) { random.rand(2).zero? ? nil : BOUNDS.sample(random: random) }
    { prefix: prefix, from: from, to: to, after: after, limit: random.rand(6), reverse: random.rand(2).zero? }
  end

  def counting(random)
    { by: COUNTS.sample(random: random), max: random.rand(2).zero? ? nil : COUNTS.sample(random: random) }
  end
end
