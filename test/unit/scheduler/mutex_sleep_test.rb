# frozen_string_literal: true

require "test_helper"
require "monitor"

# A fiber that is ended while it waits for a condition, or for its lock after that, comes back with its lock. On Ruby
# 3.1 it came back without when the first was ended, from 3.2 on when the second was: the rest of its block ran
# unguarded, the unlock raised a ThreadError in place of what had ended the wait, and a Monitor was held by nobody.
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

  LOCKS = {
    monitor: -> { Monitor.new.then { |lock| [lock, lock.new_cond, lock.method(:mon_owned?)] } },
    mutex: -> { Mutex.new.then { |lock| [lock, Condition.new(lock, ConditionVariable.new), lock.method(:owned?)] } }
  }.freeze

  # A Mutex and its ConditionVariable, used as those of a Monitor.
  Condition = Struct.new(:mutex, :variable) do
    def wait(seconds = nil) = variable.wait(mutex, seconds)
    def signal = variable.signal
  end

  LOCKS.each do |name, make|
    { signalled: nil, late: 0.01 }.each do |how, seconds|
      define_method(:"test_a_fiber_that_is_cancelled_while_it_takes_a_#{name}_again_holds_it_when_#{how}") do
        lock, changed, owns = make.call
        owned = []
        Elah.run do
          waiting = Elah.async do
            lock.synchronize do
              changed.wait(seconds)
            ensure
              owned << owns.call
            end
          end
          lock.synchronize do
            changed.signal unless seconds
            pause(0.03) # the other one wants its lock back
            waiting.cancel
            pause(0.01)
          end
          assert_instance_of Elah::Cancelled, waiting.wait.error
          assert_equal :free, Elah.async { Elah.timeout(5) { lock.synchronize { :free } } }.value
        end
        assert_equal [true], owned
      end
    end
  end

  def test_what_ended_the_wait_is_raised_and_nothing_that_came_later
    mutex = Mutex.new
    Elah.run do
      waiting = Elah.async { Elah.timeout(0.03) { mutex.synchronize { ConditionVariable.new.wait(mutex) } } }
      held = Thread::Queue.new
      holder = Elah.async { mutex.synchronize { held.pop } }
      waiting.cancel
      pause(0.05) # the time-out comes while it waits for the lock
      held << true
      holder.wait
      assert_instance_of Elah::Cancelled, waiting.wait.error
    end
  end

  def test_a_signal_of_another_thread_may_come_between_the_unlock_and_the_wait
    mutex = Mutex.new
    changed = ConditionVariable.new
    mutex.define_singleton_method(:unlock) do
      super().tap { Thread.new { changed.signal }.tap { |thread| Thread.pass while thread.alive? } }
    end
    Elah.run { assert mutex.synchronize { changed.wait(mutex, 60) } }
  end

  def test_a_wait_without_the_lock_is_refused_and_does_not_lock
    mutex = Mutex.new
    Elah.run { assert_raises(ThreadError) { ConditionVariable.new.wait(mutex) } }
    refute_predicate mutex, :locked?
  end

  def test_a_wait_that_times_out_says_so_and_a_negative_time_is_refused
    mutex = Mutex.new
    monitor = Monitor.new
    Elah.run do
      refute(mutex.synchronize { ConditionVariable.new.wait(mutex, 0.001) })
      assert_nil(mutex.synchronize { mutex.sleep(0) })
      refute(monitor.synchronize { monitor.new_cond.wait(0.001) })
      assert_raises(ArgumentError) { mutex.synchronize { mutex.sleep(-1) } }
    end
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

  private

  # In the order of the timers of one loop, however slow the machine is.
  def pause(seconds) = Fiber.scheduler.kernel_sleep(seconds)
end
