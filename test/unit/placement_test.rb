# frozen_string_literal: true

require "test_helper"

class PlacementTest < Minitest::Test
  def test_a_process_without_a_supervisor_owns_every_shard
    placement = Elah::Placement.current
    assert_equal [0, 1, 256], [placement.slot, placement.slots, placement.shards]
    assert_equal [0], Array.new(256) { |shard| placement.owner_of(shard) }.uniq
    assert_equal placement.generation, placement.generation_of(0)
    assert_equal 0, placement.generation_of(1)
  end

  def test_every_start_has_a_larger_generation
    here = Elah::Placement.current.generation
    output, input = IO.pipe
    Process.wait(fork do
      input.puts Elah::Placement.current.generation
      exit!(0)
    end)
    assert_operator Integer(output.gets), :>, here
  end

  # A number that only some processes refuse fails in production.
  def test_what_cannot_be_shown_is_refused_without_a_server_too
    placement = Elah::Placement.current
    ["a.b", "a-b", "é", "a b", "y\n", "", "x" * 24, nil].each do |name|
      assert_raises(ArgumentError, name.inspect) { placement.publish(name, 1) }
    end
    [-5, "7", nil, 1.5, 2**64].each do |value|
      assert_raises(ArgumentError, value.inspect) { placement.publish("n", value) }
    end
    assert_nil placement.publish(:queue_length, 0)
  end
end
