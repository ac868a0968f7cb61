# frozen_string_literal: true

require "test_helper"
require "elah/server/supervisor/child"

# What the supervisor knows of a worker.
class SupervisorChildTest < Minitest::Test
  def setup
    @control, @worker = Elah::Supervisor::Control.pair
    @child = Elah::Supervisor::Child.new(pid: 1, slot: 0, row: 0, generation: 1, control: @control, now: 0.0)
  end

  def teardown = [@control, @worker].each(&:close)

  # A hand-over took longer than the supervisor had waited, and ended during the next one: that one was taken for done,
  # and what its entities had not stored yet was lost.
  def test_the_end_of_an_earlier_hand_over_is_not_that_of_the_next
    refute_predicate @child, :released?
    @child.release([1, 2])
    @child.release([3])
    assert_equal ["release 1 1,2", "release 2 3"], Array.new(2) { @worker.gets }
    @child.released(1)
    refute_predicate @child, :released?
    @child.released(2)
    assert_predicate @child, :released?
  end

  def test_the_next_image_of_the_supervisor_counts_on
    @child.release([1])
    values = @child.to_h.merge("control" => @control.io.dup.tap { |io| io.autoclose = false }.fileno)
    adopted = Elah::Supervisor::Child.adopted(values, 0.0)
    adopted.release([2])
    adopted.released(1)
    refute_predicate adopted, :released?
    adopted.control.close
  end
end
