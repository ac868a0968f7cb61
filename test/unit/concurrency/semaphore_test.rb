# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"

class SemaphoreTest < Minitest::Test
  def test_no_more_than_its_permits_are_inside_and_each_gets_in_in_its_turn
    Elah.run do
      semaphore = Elah::Semaphore.new(3)
      inside = 0
      peak = 0
      order = []
      fibers = Array.new(20) do |index|
        Elah.async do
          semaphore.acquire do
            order << index
            peak = [peak, inside += 1].max
            sleep(0.002)
            inside -= 1
          end
        end
      end
      fibers.each(&:value)
      assert_equal 3, peak
      assert_equal [*0...20], order
      assert_equal [3, 0], [semaphore.free, semaphore.waiting]
    end
  end

  def test_waiting_is_bounded_in_time_and_number
    Elah.run do
      semaphore = Elah::Semaphore.new(1, wait_seconds: 0.01, queue_max: 1)
      semaphore.acquire do
        late = Elah.async { semaphore.acquire { :never } }
        error = assert_raises(Elah::Overloaded) { semaphore.acquire { :never } }
        assert_equal "All 1 permits are taken and 1 callers wait: try again later.", error.message
        assert_equal "None of 1 permits became free within 0.01 s.",
                     assert_raises(Elah::Overloaded) { late.value }.message
        patient = Elah.async { semaphore.acquire(wait_seconds: nil) { :entered } }
        Elah.async { patient.value }
      end
      assert_equal :entered, semaphore.acquire(wait_seconds: 1) { :entered }
      assert_equal 1, semaphore.free
    end
  end

  def test_a_permit_is_never_lost_when_waiters_are_cancelled
    Elah.run do
      semaphore = Elah::Semaphore.new(2)
      fibers = Array.new(200) do |index|
        Elah.async { Elah.timeout(0.001 * (index % 7 + 1)) { semaphore.acquire { sleep(0.0005) } } }
      end
      fibers.each(&:wait)
      fibers.each(&:error)
      assert_equal [2, 0], [semaphore.free, semaphore.waiting]
    end
  end

  # The fiber that had just been given the permit was left behind with it, and nobody got in any more.
  def test_a_permit_is_not_lost_with_the_loop_of_a_thread_that_is_killed
    semaphore = Elah::Semaphore.new(1)
    gate, begun = Array.new(2) { Thread::Queue.new }
    thread = Thread.new do
      Elah.run do
        Elah.async { semaphore.acquire { gate.pop } && (begun << true) && loop { nil } }
        Elah.async { semaphore.acquire { sleep } }
        gate << true
        sleep
      end
    end
    begun.pop
    thread.kill.join
    assert_equal 1, semaphore.free
  end

  def test_outside_a_loop_it_lets_in_while_there_is_room
    semaphore = Elah::Semaphore.new(1)
    assert_equal 1, semaphore.acquire { 1 }
    semaphore.acquire { assert_raises(Elah::OutsideLoop) { semaphore.acquire { 2 } } }
    assert_raises(ArgumentError) { Elah::Semaphore.new(0) }
  end
end
