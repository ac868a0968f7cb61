# frozen_string_literal: true

require "test_helper"
require "monitor"

# A fiber that is ended while it waits for a condition comes back with its lock. On Ruby 3.1 it came back without: the
# rest of its block ran unguarded, and the unlock raised `ThreadError: Attempt to unlock a mutex which is not locked` in
# place of what had ended the wait.
class MutexSleepTest < Minitest::Test
  WAITS = {
    condition_variable: lambda do |owned|
      mutex = Mutex.new
      mutex.synchronize do
        ConditionVariable.new.wait(mutex)
      ensure
        owned << mutex.owned?
      end
    end,
    condition_variable_with_a_time: lambda do |owned|
      mutex = Mutex.new
      mutex.synchronize do
        ConditionVariable.new.wait(mutex, 3600)
      ensure
        owned << mutex.owned?
      end
    end,
    monitor: lambda do |owned|
      monitor = Monitor.new
      monitor.synchronize do
        monitor.new_cond.wait
      ensure
        owned << monitor.mon_owned?
      end
    end,
    mutex: lambda do |owned|
      mutex = Mutex.new
      mutex.synchronize do
        mutex.sleep
      ensure
        owned << mutex.owned?
      end
    end
  }.freeze

  WAITS.each do |name, wait|
    define_method(:"test_a_cancelled_wait_of_a_#{name}_holds_its_lock_again") do
      owned = []
      Elah.run do
        waiting = Elah.async { wait.call(owned) }
        assert_instance_of Elah::Cancelled, waiting.cancel.wait.error
      end
      assert_equal [true], owned
    end

    define_method(:"test_a_deadline_in_a_#{name}_is_raised_as_such") do
      owned = []
      Elah.run { assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.01) { wait.call(owned) } } }
      assert_equal [true], owned
    end
  end

  def test_a_fiber_that_is_cancelled_waits_until_the_lock_is_free_however_often_it_is_cancelled
    mutex = Mutex.new
    changed = ConditionVariable.new
    order = []
    Elah.run do
      waiting = Elah.async do
        mutex.synchronize do
          changed.wait(mutex)
        ensure
          order << [:waiter, mutex.owned?]
        end
      end
      held = Thread::Queue.new
      holder = Elah.async { mutex.synchronize { held.pop && order << [:holder, mutex.owned?] } }
      waiting.cancel
      Fiber.scheduler.yield # it is ended, and wants its lock back
      Elah.current_loop.cancel_all(Elah::Cancelled.new("again"))
      held << true
      holder.wait
      assert_instance_of Elah::Cancelled, waiting.wait.error
    end
    assert_includes order, [:waiter, true]
    refute_predicate mutex, :locked?
  end

  def test_a_wait_that_is_signalled_is_as_ever
    Elah.run do
      mutex = Mutex.new
      changed = ConditionVariable.new
      waiting = Elah.async { mutex.synchronize { changed.wait(mutex) && mutex.owned? } }
      changed.signal
      assert waiting.value
    end
  end
end
