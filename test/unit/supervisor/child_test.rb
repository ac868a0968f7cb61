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

  # After a pause of all processes for longer than hang_seconds, every worker with a waiting request was killed.
  def test_a_pause_of_the_supervisor_makes_no_worker_late
    assert_equal [0.0, 0.0], [@child.unserved_seconds(7, 1.0), @child.silent_seconds(9, 1.0)]
    assert_equal [0.5, 0.5], [@child.unserved_seconds(7, 60.0), @child.silent_seconds(9, 60.0)]
    assert_operator @child.boot_seconds(60.0), :<, 1
  end

  def test_a_wait_counts_until_a_request_is_started
    @child.unserved_seconds(7, 1.0)
    assert_in_delta 0.4, @child.unserved_seconds(7, 1.4)
    assert_in_delta 0.8, @child.unserved_seconds(7, 1.8)
    assert_equal [0.0, 0.0, 0.0], [[8, 2.0], [0, 2.1], [0, 2.2]].map { |since, at| @child.unserved_seconds(since, at) }
  end
end
