# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"

class DeadlineTest < Minitest::Test
  def test_a_timeout_is_raised_where_the_block_waits
    Elah.run do
      ended = []
      error = assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.01) { sleep_noting(ended, 1) } }
      assert_equal "The block took longer than 0.01 s.", error.message
      assert_equal [1], ended
      assert_equal 5, Elah.timeout(5) { 5 }
    end
  end

  def test_outside_a_loop_there_are_timeouts_too
    assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.01) { sleep } }
    assert_raises(Elah::DeadlineExceeded, "0 is no limit to Ruby") { Elah.timeout(0) { sleep } }
  end

  # It was an error that a `rescue` in the block could take for one of its own, and the block ran on.
  def test_outside_a_loop_nothing_in_the_block_rescues_a_timeout
    rescued = []
    rescuing = proc { sleep rescue rescued << $! }
    [-> { Elah.timeout(0.01, &rescuing) }, -> { Elah.timeout(0.01) { Elah.timeout(60, &rescuing) } }].each do |limited|
      error = assert_raises(Elah::DeadlineExceeded, &limited)
      assert_equal "The block took longer than 0.01 s.", error.message
    end
    assert_empty rescued
    assert_equal "own", assert_raises(Timeout::Error) { Elah.timeout(60) { raise Timeout::Error, "own" } }.message
  end

  # A fiber from before a limit had it as well while its parent was in the block, and one from within had it afterwards.
  def test_a_limit_binds_what_its_block_starts_until_it_ends
    Elah.run do
      gate = Queue.new
      earlier = Elah.async { gate.pop && Elah.deadline }
      inside = nil
      Elah.timeout(500) do
        gate << true
        assert_nil earlier.value
        inside = Elah.async { [Elah.deadline, gate.pop && Elah.deadline] }
      end
      gate << true
      during, later = inside.value
      assert_in_delta 500, during, 100
      assert_nil later
    end
  end

  def test_the_deadline_is_the_nearest_and_travels
    Elah.run do
      assert_nil Elah.deadline
      Elah.timeout(1000) do
        assert_in_delta 1000, Elah.deadline, 100
        Elah.timeout(500) { assert_in_delta 500, Elah.deadline, 100 }
        Elah.timeout(2000) { assert_in_delta 1000, Elah.deadline, 100 }
        assert_in_delta 1000, Elah.async { Elah.deadline }.value, 100
        assert_nil Elah.async(detached: true) { Elah.deadline }.value
      end
      assert_nil Elah.deadline
    end
    assert_nil Elah.deadline
  end

  def test_a_shield_holds_off_what_comes_from_outside
    Elah.run do
      done = []
      gate = Thread::Queue.new
      fiber = Elah.async do
        Elah.shield { gate.pop && done << :shielded }
        done << :never
      end
      fiber.cancel
      gate << true
      assert_raises(Elah::Cancelled) { fiber.value }
      assert_equal [:shielded], done
    end
  end

  def test_a_timeout_inside_a_shield_works_and_one_around_it_waits
    Elah.run do
      assert_raises(Elah::DeadlineExceeded) { Elah.shield { Elah.timeout(0.01) { sleep } } }
      done = []
      assert_raises(Elah::DeadlineExceeded) do
        Elah.timeout(0.01) do
          Elah.shield { Elah.shield { sleep(0.03) } && done << 1 }
          done << 2
        end
      end
      assert_equal [1], done
      sleep(0.01)
    end
    assert_equal 1, Elah.shield { 1 }
  end

  # An entity of another worker could not be called to give back what was taken: the time of the block was over for
  # good, and it was again when a block inside it had ended.
  def test_ensure_blocks_have_time_after_a_limit_has_passed
    Elah.run do
      waits = [-> { sleep }, -> { Elah.timeout(1000) { sleep } }, -> { Elah.shield { sleep(0.03) } && sleep }]
      waits.each do |wait|
        left = Thread::Queue.new
        assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.01) { noting_the_deadline(left, &wait) } }
        Elah.gather(deadline: 0.01) { |g| g.call(:late, fallback: nil) { noting_the_deadline(left, &wait) } }
        assert_equal [nil, nil], Array.new(2) { left.pop }
        assert_nil Elah.deadline
      end
    end
  end

  # A call to another worker ended with the deadline around the shield, and what it does was done in part.
  def test_a_deadline_around_a_shield_does_not_bind_what_is_inside
    Elah.run do
      Elah.timeout(1000) do
        assert_nil(Elah.shield { Elah.deadline })
        assert_nil Elah.shield { Elah.async { Elah.deadline }.value }
        assert_in_delta 500, Elah.shield { Elah.timeout(500) { Elah.deadline } }, 100
        assert_in_delta 1000, Elah.deadline, 100
      end
      left = []
      assert_raises(Elah::DeadlineExceeded) do
        Elah.timeout(0.01) { Elah.shield { sleep(0.03) && left << Elah.deadline } && sleep }
      end
      assert_equal [nil], left
    end
  end

  # It was told that it had no limit, and what it called had none.
  def test_a_fiber_that_is_cancelled_in_a_shield_keeps_the_limits_inside_it
    left = left_after_cancellation do |wait, look|
      Elah.timeout(1000) { Elah.shield { Elah.timeout(500) { wait.call && look.call } } }
    end
    assert_in_delta 500, left, 100
  end

  # The limits between two shields were forgotten.
  def test_a_fiber_that_is_cancelled_in_an_inner_shield_keeps_the_limits_around_it
    left = left_after_cancellation do |wait, look|
      Elah.shield { Elah.timeout(500) { Elah.shield(&wait) && look.call } }
    end
    assert_in_delta 500, left, 100
  end

  # The deadline that a fiber sees at `look` when it was cancelled at `wait`.
  def left_after_cancellation
    Elah.run do
      gate = Thread::Queue.new
      left = nil
      fiber = Elah.async { yield -> { gate.pop }, -> { left = Elah.deadline } }
      fiber.cancel
      gate << true
      fiber.wait
      left
    end
  end

  # It kept the deadline of a block that had ended long ago, and its calls to other workers were refused for good.
  def test_a_fiber_is_bound_by_the_block_that_started_it_until_that_ends
    Elah.run do
      gate = Thread::Queue.new
      fiber = Elah.timeout(1000) do
        Elah.async { [Elah.deadline, gate.pop && Elah.deadline] }
      end
      gate << true
      during, after = fiber.value
      assert_in_delta 1000, during, 100
      assert_nil after
    end
  end

  private

  def noting_the_deadline(left)
    yield
  ensure
    left << Elah.deadline
  end

  def sleep_noting(ended, name)
    sleep
  ensure
    ended << name
  end
end
