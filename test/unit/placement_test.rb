# frozen_string_literal: true

require "test_helper"

class PlacementTest < Minitest::Test
  def test_a_process_without_a_supervisor_owns_every_shard
    placement = Elah::Placement.current
    assert_equal [0, 1, 256], [placement.slot, placement.slots, placement.shards]
    assert_equal [0], Array.new(256) { |shard| placement.owner_of(shard) }.uniq
    assert_equal placement.incarnation, placement.incarnation_of(0)
    assert_equal 0, placement.incarnation_of(1)
  end

  def test_every_start_has_a_larger_incarnation
    here = Elah::Placement.current.incarnation
    output, input = IO.pipe
    Process.wait(fork do
      input.puts Elah::Placement.current.incarnation
      exit!(0)
    end)
    assert_operator Integer(output.gets), :>, here
  end
end
