# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"
require "support/patience"

# What ends a fiber's wait at its time limit, and which of several limits it is.
class SchedulerTimeoutsTest < Minitest::Test
  include Patience

  # The lock was handed over when the time-out came: who waits for it next must not wait for ever.
  def test_a_timeout_never_loses_a_lock
    Elah.run do
      mutex = Mutex.new
      mutex.lock
      order = []
      holder = Fiber.current
      2.times do |index|
        Fiber.schedule do
          Timeout.timeout(index.zero? ? 0.05 : 5) { mutex.synchronize { order << index } }
        rescue Timeout::Error
          order << :late
        end
      end
      hold_at_least(0.06)
      mutex.unlock # both the wake-up and the time-out are due in the next turn
      assert_same holder, Fiber.current
      sleep(0.01) until order.size == 2
      assert_equal [0, 1], order.sort_by(&:to_s)
    end
  end

  def test_a_timeout_that_is_due_while_its_fiber_runs_is_raised_where_it_waits_next
    Elah.run do
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.01) do
          Fiber.schedule { hold_at_least(0.03) && sleep(0) }
          sleep(0)
          sleep(5)
        end
      end
      assert_operator(measure { sleep(0.03) }, :>=, 0.03)
    end
  end

  def test_the_inner_and_the_outer_timeout_are_told_apart
    Elah.run do
      outer = Class.new(StandardError)
      assert_raises(outer) { Timeout.timeout(0.02, outer) { Timeout.timeout(5) { sleep } } }
      assert_raises(Timeout::Error) { Timeout.timeout(5, outer) { Timeout.timeout(0.02) { sleep } } }
    end
  end

  # A plain Timeout::Error was raised in the block: a `rescue => e` of a client that tries again swallowed it, and the
  # block went on for as long as it liked.
  def test_a_timeout_without_a_class_cannot_be_rescued_in_its_block_as_in_a_thread
    outcome = lambda do
      events = []
      error = assert_raises(Timeout::Error) do
        Timeout.timeout(0.05) do
          sleep(patience_seconds)
        rescue StandardError
          events << :rescued
        ensure
          events << :ensured
        end
      end
      [events, error.class, error.message]
    end
    assert_equal [[:ensured], Timeout::Error, "execution expired"], Thread.new(&outcome).value
    assert_equal [[:ensured], Timeout::Error, "execution expired"], Elah.run(&outcome)
  end

  def test_a_timeout_with_a_class_of_its_own_can_be_rescued_in_its_block
    late = Class.new(StandardError)
    rescuing = lambda do
      Timeout.timeout(0.05, late) do
        sleep(patience_seconds)
      rescue StandardError => e
        e.class
      end
    end
    assert_same late, Thread.new(&rescuing).value
    assert_same late, Elah.run(&rescuing)
  end

  def test_the_inner_timeout_does_not_take_the_outer_one_for_its_own
    Elah.run do
      inner = nil
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.02) do
          Timeout.timeout(patience_seconds) { sleep }
        rescue StandardError => e
          inner = e
        end
      end
      assert_nil inner
    end
  end

  def test_the_backtrace_of_a_timeout_names_the_line_that_waited
    Elah.run do
      line = nil
      error = assert_raises(Timeout::Error) { Timeout.timeout(0.02) { (line = __LINE__) && sleep } }
      assert(error.backtrace.any? { |entry| entry.include?("#{File.basename(__FILE__)}:#{line}:") })
    end
  end

  # The gem timeout calls this way from version 0.6 on.
  def test_a_timeout_by_an_exception_that_the_caller_has_made_raises_that_one
    Elah.run do
      own = Class.new(Exception) { def exception(*) = self }.new("mine") # rubocop:disable Lint/InheritException
      raised = assert_raises(own.class) { Fiber.scheduler.timeout_after(0.02, own, "execution expired") { sleep } }
      assert_same own, raised
    end
  end

  private

  # Holds the loop, as code does that computes.
  def hold_at_least(seconds)
    finish_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish_at
    true
  end
end
