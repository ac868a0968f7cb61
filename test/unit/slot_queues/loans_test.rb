# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# Slots that are lent natively beside the method for which that is done.
class LoansTest < EntityCase
  SEATS = 20

  # Seats of a room. With a key that begins with "n" most are taken natively.
  class Room < Elah::Entity
    index :taken

    HOLD = 100
    CALLS = Hash.new(0)

    def restore
      @queues = Elah::SlotQueues.new(2)
      (2...(2 + SEATS)).each { |slot| @queues.append(slot, 0) }
      @loans = Elah::SlotQueues::Loans.new(:take, @queues, 0, 1, index(:taken), prefix)
      (2...(1 + SEATS)).each { |slot| @loans.describe(slot, "seat #{slot} ", "seat #{slot}") } # the last has no text
      return unless key.start_with?("n")

      natively @loans
      open(1 << 40, 10_000)
    end

    # One is too long for a key of the store.
    def prefix = key == "no rows" ? "x" * 480 : "#{key} "

    def open(till, times) = @loans.open(HOLD, till, times)
    def close = @loans.close

    def take(text, now)
      CALLS[key] += 1
      now = @queues.step(now)
      serial = @queues.last_serial + 1
      due = now + HOLD
      slot = @queues.lend_first(0, 1, now, due, serial) ||
             (@queues.move_due(1, now, 0) && @queues.lend_first(0, 1, now, due, serial)) or return :full
      @queues.last_serial = serial
      index(:taken).put("#{prefix}#{now}", "seat #{slot} #{serial}  #{text}")
      "seat #{slot}"
    end

    def state_of_queues = [@queues.now, @queues.last_serial, @queues.slots(0), @queues.slots(1), (2...(2 + SEATS)).map { |slot| @queues.due(slot) }]
  end

  def setup
    super
    Room::CALLS.clear
    @rooms = Room.in(@store)
  end

  def take(key, texts, now)
    calls = Elah::Entity::CallColumns.of(:take, texts: 1, arguments: [now])
    texts.each { |text| calls.add(key, text) }
    @rooms.call_many(calls)
  end

  def rows(key) = @rooms.index(:taken).range(prefix: "#{key} ").map { |name, value| [name.delete_prefix(key), value] }

  def test_random_loans_beside_the_method
    random = Random.new(Integer(ENV.fetch("LOANS_SEED", Random.new_seed % 2**32)))
    Elah.run do
      now = 1000
      100.times do |round|
        now += random.rand(-20..60)
        texts = Array.new(random.rand(1..4)) { |n| "who #{round} #{n} ü" }
        assert_equal take("r", texts, now), take("n", texts, now), "seed #{random.seed}"
        assert_equal @rooms["r"].state_of_queues, @rooms["n"].state_of_queues, "seed #{random.seed}"
      end
      assert_equal rows("r"), rows("n")
      assert_operator Room::CALLS["n"], :<, Room::CALLS["r"] / 2, "most are taken natively"
    end
  end

  # Nobody but its state knows what lends its only seat.
  class Single < Elah::Entity
    index :taken

    def restore
      queues = Elah::SlotQueues.new(2).tap { |one| one.append(2, 0) }
      natively Elah::SlotQueues::Loans.new(:take, queues, 0, 1, index(:taken), key).tap { |loans|
        loans.describe(2, "s" * 55, "the #{key} seat")
        loans.open(1, 1 << 40, 10_000)
      }
    end

    def take(_text, _now) = :method
    def fail_once = raise("as asked")
  end

  def test_what_stands_for_a_method_lives_as_long_as_its_entity
    singles = Single.in(@store)
    take = lambda do |now|
      calls = Elah::Entity::CallColumns.of(:take, texts: 1, arguments: [now])
      singles.call_many(calls.tap { calls.add("one", "x") })
    end
    Elah.run do
      assert_equal [:method], take.call(0), "not in memory yet"
      GC.verify_compaction_references(double_heap: true, toward: :empty)
      assert_equal [["the one seat"], ["the one seat"]], [take.call(10), take.call(20)]
      assert_raises(RuntimeError) { singles["one"].fail_once }
      assert_equal [:method], take.call(30), "it went with the entity"
      assert_equal ["the one seat"], take.call(40)
    end
  end

  def test_it_ends_where_the_entity_says_so
    Elah.run do
      @rooms["n"].open(1 << 40, 1)
      assert_equal [["seat 2", "seat 3"], 1], [take("n", %w[a b], 5), Room::CALLS["n"]]
      assert_equal [1, 0], [@rooms["n"].close, @rooms["n"].close]
      @rooms["n"].open(500, 9)
      take("n", ["late"], 500)
      assert_equal 2, Room::CALLS["n"]
      take("n", [nil], 300)
      assert_equal 3, Room::CALLS["n"], "a call without a text is the method's"
    end
  end

  def test_a_row_that_cannot_be_stored_is_the_methods_affair
    Elah.run do
      2.times { assert_instance_of Elah::Store::InvalidKey, take("no rows", ["a"], 5).first }
      assert_equal [2, 0], [Room::CALLS["no rows"], @rooms["no rows"].close]
    end
  end

  # Seats that rows cannot speak of.
  class Nameless < Elah::Entity
    index :taken

    def describe(slot, head) = Elah::SlotQueues::Loans.new(:take, Elah::SlotQueues.new(2), 0, 1, index(:taken), key).describe(slot, head, "a seat")
  end

  def test_what_a_row_begins_with_is_bounded
    Elah.run do
      nameless = Nameless.in(@store)["one"]
      assert_nil nameless.describe(2, "s" * 55)
      ["", "s" * 56].each { |head| assert_match(/1 to 55 bytes/, assert_raises(ArgumentError) { nameless.describe(2, head) }.message) }
      assert_raises(ArgumentError) { nameless.describe(1 << 24, "s") }
    end
  end

  def test_what_does_not_fit_is_refused
    queues = Elah::SlotQueues.new(2)
    assert_raises(TypeError) { Elah::SlotQueues::Loans.new(:take, nil, 0, 1, nil, "x") }
    assert_raises(TypeError) { Elah::SlotQueues::Loans.new(:take, queues, 0, 1, nil, "x") }
    assert_raises(TypeError) { Elah::SlotQueues::Loans.allocate }
  end
end
