# frozen_string_literal: true

require "test_helper"

class ShardMapTest < Minitest::Test
  def moved(owners, slots)
    moves = Elah::Supervisor::ShardMap.moves(owners, slots)
    moves.each { |shard, slot| owners[shard] = slot }
    [owners, moves.size]
  end

  def test_shards_without_an_owner_are_divided
    owners, = moved([nil] * 10, 3)
    assert_equal [3, 3, 4], owners.tally.values.sort
  end

  def test_nothing_moves_without_need
    assert_equal 0, moved([0, 1, 2, 0, 1, 2, 0], 3).last
    assert_equal 0, moved([0, 1, 1, 0, 1], 2).last
  end

  def test_slots_come_and_go_with_the_fewest_moves
    random = Random.new(7)
    owners = [nil] * 256
    1000.times do
      slots = random.rand(1..64)
      held = owners.tally
      fewest, surplus = 256.divmod(slots)
      # Whoever is left keeps what it may: the slots with most keep the one more that cannot be divided.
      counts = (0...slots).map { |slot| held.fetch(slot, 0) }.sort.reverse
      kept = counts.each_with_index.sum { |had, rank| [had, rank < surplus ? fewest + 1 : fewest].min }
      owners, moves = moved(owners, slots)
      assert_equal 256 - kept, moves
      assert_equal (0...slots).to_a, owners.uniq.sort
      assert_operator owners.tally.values.max - owners.tally.values.min, :<=, 1
    end
  end
end
