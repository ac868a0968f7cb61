# frozen_string_literal: true

require_relative "../test_helper"
require "elah"

# Slots in queues beside a model of Arrays, and what is refused.
class SlotQueuesTest < Minitest::Test
  QUEUES = 3

  def queues(slots) = Elah::SlotQueues.new(QUEUES).tap { |queues| (QUEUES...(QUEUES + slots)).each { |slot| queues.append(slot, 0) } }

  def test_slots_are_lent_in_turn_and_come_back_when_they_are_due
    queues = queues(2)
    assert_equal [3, 4, nil], [10, 20, 30].map { |due| queues.lend_first(0, 1, due - 10, due, due + 1) }
    assert_equal [10, 20, 21], [queues.begun(4), queues.due(4), queues.serial(4)]
    assert_equal [[], [0, 10, 11, 10, 20, 21]], [queues.loans(0), queues.loans(1)]
    queues.set_due(3, 15)
    assert_equal [0, 1], [14, 19].map { |now| queues.move_due(1, now, 2) }
    assert_equal [[], [4], [3]], Array.new(QUEUES) { |queue| queues.slots(queue) }
    assert_equal [1, 2, nil], [4, 3, 99].map { |slot| queues.queue(slot) }
  end

  def test_steps_have_times_of_their_own_and_loans_are_counted
    queues = queues(1)
    assert_equal [0, 5, 6, 7, 9, 9], [queues.now, queues.step(5), queues.step(5), queues.step(-1), queues.advance(9), queues.advance(2)]
    assert_equal [9, 0], [queues.now, queues.last_serial]
    assert_equal 7, (queues.last_serial = 7) && queues.last_serial
  end

  def test_what_cannot_be_is_refused
    queues = queues(1)
    { "no queue 3" => [:append, 9, 3], "no queue 4294967295" => [:first, 4_294_967_295], "no queue 4" => [:loans, 4], "no slot 2" => [:append, 2, 0], "no slot 9" => [:due, 9],
      "slot 3 stands in a queue" => [:lend, 3, 1, 0, 0, 0], "no slot 16777216" => [:append, 16_777_216, 0] }.each do |message, call|
      assert_match(/\AIn these queues .*#{message}/, assert_raises(ArgumentError, message) { queues.public_send(*call) }.message)
    end
    assert_raises(RangeError) { queues.append(-1, 0) }
    assert_raises(TypeError) { queues.append("slot", 0) }
    queues.remove(3)
    assert_match(/stands in no queue/, assert_raises(ArgumentError) { queues.remove(3) }.message)
    assert_raises(TypeError) { Elah::SlotQueues.allocate }
  end

  def test_random_steps_beside_arrays
    random = Random.new(Integer(ENV.fetch("SLOT_QUEUES_SEED", Random.new_seed % 2**32)))
    queues = queues(20)
    model = [(QUEUES...(QUEUES + 20)).to_a, [], []]
    dues = Hash.new(0)
    2000.times do |now|
      from, to = (0...QUEUES).to_a.sample(2, random: random)
      slot = model[from].sample(random: random)
      case random.rand(4)
      when 0
        dues[model[from].first] = now + 50 unless model[from].empty?
        assert_equal_or_nil model[from].first, queues.lend_first(from, to, now, now + 50, now)
        model[to].concat(model[from].shift(1))
      when 1
        moved = model[from].take_while { |candidate| dues[candidate] <= now }
        assert_equal moved.size, queues.move_due(from, now, to)
        model[to].concat(model[from].shift(moved.size))
      when 2
        next unless slot

        queues.remove(model[from].delete(slot))
        queues.append(slot, to)
        model[to] << slot
      else queues.set_due(slot, dues[slot] = now) if slot
      end
      assert_equal model, Array.new(QUEUES) { |queue| queues.slots(queue) }
      assert_equal model.map(&:first), Array.new(QUEUES) { |queue| queues.first(queue) }
      assert_equal model.map(&:size), Array.new(QUEUES) { |queue| queues.size(queue) }
    end
  end

  def assert_equal_or_nil(expected, value) = expected.nil? ? assert_nil(value) : assert_equal(expected, value)
end
