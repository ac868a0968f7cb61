# frozen_string_literal: true

require "test_helper"

# A thread that did not end within the limit of `join` was waited for all the same on Ruby 3.1, and returned as if it
# had: `thread.join(5) || thread.kill` never killed.
class ThreadJoinTest < Minitest::Test
  def setup
    @end = Thread::Queue.new
    @thread = Thread.new { @end.pop }
  end

  def teardown
    @end << true
    @thread.kill.join
  end

  [0.01, 0, 0.0, -1, 1r / 100].each do |limit|
    define_method(:"test_a_thread_that_goes_on_for_longer_than_#{limit}_is_not_returned") do
      Elah.run { assert_nil @thread.join(limit) }
      assert_predicate @thread, :alive?
    end
  end

  [nil, 60, Float::INFINITY].each do |limit|
    define_method(:"test_a_thread_that_ends_within_#{limit || 'no limit'}_is_returned") do
      Elah.run do
        joined = Elah.async { @thread.join(limit) }
        @end << true
        assert_same @thread, joined.value
        assert_same @thread, @thread.join(0)
      end
    end
  end

  def test_it_can_be_joined_again
    Elah.run do
      assert_nil @thread.join(0.001)
      @end << true
      assert_same @thread, @thread.join(60)
    end
  end

  def test_the_exception_of_the_thread_is_raised
    Elah.run do
      failing = Thread.new do
        Thread.current.report_on_exception = false
        raise IndexError, "of the thread"
      end
      assert_raises(IndexError) { failing.join(60) }
    end
  end

  def test_what_ends_the_wait_from_outside_is_raised_and_leaves_the_thread_alone
    Elah.run do
      assert_raises(Timeout::Error) { Timeout.timeout(0.01) { @thread.join(60) } }
      assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.01) { @thread.join(60) } }
      waiting = Elah.async { @thread.join(60) }
      assert_instance_of Elah::Cancelled, waiting.cancel.wait.error
    end
    assert_predicate @thread, :alive?
  end

  def test_a_limit_that_is_no_number_is_refused
    Elah.run { assert_raises(TypeError) { @thread.join("1") } }
  end
end
