# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"

# A deadline passed Thread.handle_interrupt, in which a library puts back a connection: a pool of the gem
# connection_pool lost one for good each time, and mysql2 took a Timeout for a broken connection and closed it. In a
# thread both wait.
class InterruptMasksTest < Minitest::Test
  TIMEOUT = defined?(Timeout::ExitException) ? Timeout::ExitException : Timeout::Error

  # As the gem connection_pool: the place of a connection is given back under a lock that others hold for long.
  def test_a_deadline_does_not_keep_a_connection_from_its_pool
    lock = Mutex.new
    returned = []
    Elah.run do
      user = Elah.async do
        Elah.timeout(0.02) do
          Thread.handle_interrupt(Exception => :never) do
            Thread.handle_interrupt(Exception => :immediate) { sleep(0.01) }
          ensure
            lock.synchronize { returned << :connection }
          end
        end
      end
      other = Elah.async { lock.synchronize { sleep(0.05) } }
      assert_instance_of Elah::DeadlineExceeded, user.wait.error
      other.wait
    end
    assert_equal [:connection], returned
  end

  [Object, Exception, StandardError, Elah::Error].each do |covered|
    define_method(:"test_a_mask_of_#{covered}_defers_a_cancellation_to_its_end") do
      steps = []
      Elah.run do
        masked = Elah.async do
          Thread.handle_interrupt(covered => :never) { sleep(0.01) && steps << :done }
          steps << :never
        end
        assert_instance_of Elah::Cancelled, masked.cancel.wait.error
      end
      assert_equal [:done], steps
    end
  end

  def test_a_mask_of_something_else_defers_nothing
    Elah.run do
      [{ KeyError => :never }, { Exception => :on_blocking }].each do |mask|
        waiting = Elah.async { Thread.handle_interrupt(mask) { sleep } }
        assert_instance_of Elah::Cancelled, waiting.cancel.wait.error
      end
    end
  end

  def test_what_was_deferred_is_raised_where_a_mask_lets_it_through
    steps = []
    Elah.run do
      masked = Elah.async do
        Thread.handle_interrupt(Exception => :never) do
          sleep(0.01)
          steps << :taken
          Thread.handle_interrupt(StandardError => :immediate) { steps << :never }
        ensure
          sleep(0.01)
          steps << :returned
        end
      end
      assert_instance_of Elah::Cancelled, masked.cancel.wait.error
    end
    assert_equal %i[taken returned], steps
  end

  def test_the_nearest_class_of_a_mask_counts
    Elah.run do
      mask = { Exception => :never, Elah::Cancelled => :immediate }
      waiting = Elah.async { Thread.handle_interrupt(mask) { sleep } }
      assert_instance_of Elah::Cancelled, waiting.cancel.wait.error
    end
  end

  # As mysql2: a Timeout waits for the reply, a deadline does not.
  def test_a_mask_of_timeouts_defers_these_alone
    steps = []
    Elah.run do
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.01) { Thread.handle_interrupt(TIMEOUT => :never) { sleep(0.03) && steps << :reply } }
      end
      masked = -> { Thread.handle_interrupt(TIMEOUT => :never) { sleep } }
      assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.01) { masked.call } }
      assert_raises(KeyError) { Timeout.timeout(0.01, KeyError) { masked.call } }
    end
    assert_equal [:reply], steps
  end

  # The error was raised inside the block that its mask protects.
  def test_a_mask_of_a_class_of_ones_own_defers_the_timeout_that_raises_it
    steps = []
    Elah.run do
      [KeyError, IndexError].each do |covered|
        assert_raises(KeyError) do
          Timeout.timeout(0.01, KeyError) do
            Thread.handle_interrupt(covered => :never) { sleep(0.03) && steps << :done }
          end
        end
      end
      assert_raises(KeyError) do
        Timeout.timeout(0.01, KeyError) { Thread.handle_interrupt(Elah::Cancelled => :never) { sleep } }
      end
    end
    assert_equal %i[done done], steps
  end

  def test_a_mask_of_all_defers_a_timeout_that_began_outside_and_none_that_begins_inside
    steps = []
    Elah.run do
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.01) do
          Thread.handle_interrupt(Exception => :never) do
            assert_raises(Timeout::Error) { Timeout.timeout(0.02) { sleep } }
            steps << :inside
          end
        end
      end
    end
    assert_equal [:inside], steps
  end

  # A new thread inherits the masks of the thread that starts it.
  def test_a_mask_is_that_of_one_fiber
    Elah.run do
      goes_on = Thread::Queue.new
      masked = Elah.async { Thread.handle_interrupt(Exception => :never) { goes_on.pop } }
      waiting = Elah.async { sleep }
      assert_instance_of Elah::Cancelled, waiting.cancel.wait.error
      thread = Thread.new { sleep }
      thread.report_on_exception = false
      thread.raise(KeyError)
      assert_raises(KeyError) { Timeout.timeout(60) { thread.value } }
      goes_on << :value
      assert_equal :value, masked.value
    end
  end

  def test_a_shield_holds_within_a_mask_that_lets_through
    steps = []
    Elah.run do
      shielded = Elah.async do
        Thread.handle_interrupt(Exception => :never) do
          Thread.handle_interrupt(Exception => :immediate) { Elah.shield { sleep(0.01) && steps << :done } }
        end
      end
      assert_instance_of Elah::Cancelled, shielded.cancel.wait.error
    end
    assert_equal [:done], steps
  end

  def test_a_wrong_mask_is_refused_as_in_a_thread
    Elah.run do
      assert_raises(ArgumentError) { Thread.handle_interrupt(Exception => :sometimes) { 1 } }
      assert_raises(ArgumentError) { Thread.handle_interrupt(Exception => :never) }
      assert_raises(TypeError) { Thread.handle_interrupt(1) { 1 } }
      assert_equal 1, Thread.handle_interrupt({}) { 1 }
    end
  end
end
