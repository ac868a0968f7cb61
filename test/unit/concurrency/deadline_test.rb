# frozen_string_literal: true

require "test_helper"
require "elah/scheduler"

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
  end

  def test_the_deadline_is_the_nearest_and_travels
    Elah.run do
      assert_nil Elah.deadline
      Elah.timeout(10) do
        assert_in_delta 10, Elah.deadline, 1
        Elah.timeout(5) { assert_in_delta 5, Elah.deadline, 1 }
        Elah.timeout(20) { assert_in_delta 10, Elah.deadline, 1 }
        assert_in_delta 10, Elah.async { Elah.deadline }.value, 1
        assert_nil Elah.async(detached: true) { Elah.deadline }.value
      end
      assert_nil Elah.deadline
    end
    assert_nil Elah.deadline
  end

  def test_a_shield_holds_off_what_comes_from_outside
    Elah.run do
      done = []
      fiber = Elah.async do
        Elah.shield { sleep(0.03) && done << :shielded }
        done << :never
      end
      sleep(0.01)
      fiber.cancel
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

  def test_a_gather_collects_what_came_until_its_deadline
    Elah.run do
      ended = []
      results = Elah.gather(deadline: 0.05) do |g|
        g.call(:quick) { 1 }
        g.call(:slow, fallback: 2) { sleep_noting(ended, :slow) }
        g.call(:broken, fallback: ->(error) { error.message }) { sleep(0.01) && raise("broken") }
        g.call { sleep(0.01) && 4 }
      end
      assert_equal({ :quick => 1, :slow => 2, :broken => "broken", 3 => 4 }, results.to_h)
      assert_equal %i[answered late failed answered], results.map(&:outcome)
      assert_equal [1, 2, "broken", 4], results.values
      refute_predicate results, :complete?
      assert_kind_of Elah::DeadlineExceeded, results[:slow].error
      sleep(0)
      assert_equal [:slow], ended
    end
  end

  def test_a_gather_without_fallback_raises_the_error_of_that_call
    results = Elah.gather(deadline: 0.01) do |g|
      g.call(:broken) { raise KeyError, "mine" }
      g.call(:late) { sleep }
      g.call(:fine) { 1 }
    end
    assert_equal 1, results[:fine].value
    assert_equal("mine", assert_raises(KeyError) { results[:broken].value }.message)
    assert_raises(Elah::DeadlineExceeded) { results[:late].value }
  end

  def test_a_gather_runs_side_by_side_and_waits_no_longer_than_it_must
    started_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    results = Elah.gather(deadline: 5) { |g| 50.times { |index| g.call { sleep(0.05) && index } } }
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - started_at, :<, 1
    assert_equal [*0...50], results.values
    assert_predicate results, :complete?
    assert_empty(Elah.gather { nil }.to_a)
  end

  def test_a_gather_that_is_cancelled_ends_its_calls
    Elah.run do
      ended = []
      assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.01) { Elah.gather { |g| g.call { sleep_noting(ended, 1) } } } }
      sleep(0)
      assert_equal [1], ended
      assert_raises(ArgumentError) { Elah.gather { |g| 2.times { g.call(:same) { 1 } } } }
    end
  end

  private

  def sleep_noting(ended, name)
    sleep
  ensure
    ended << name
  end
end
