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

  private

  def sleep_noting(ended, name)
    sleep
  ensure
    ended << name
  end
end
