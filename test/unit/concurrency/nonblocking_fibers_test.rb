# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"
require "support/patience"

# Libraries ask for blocking fibers, as the one of GraphQL that loads fields in batches does. In a blocking fiber Ruby
# asks no scheduler: each wait stopped all requests of the worker, and a wait for what another request held never ended.
class NonblockingFibersTest < Minitest::Test
  include Patience

  # Less than {Patience}, because a fault lasts that long.
  def patience_seconds = 10

  def test_a_sleep_in_a_blocking_fiber_lets_others_run
    order = []
    Elah.run do
      sleeper = Elah.async do
        blocking { sleep(0.05) }
        order << :slept
      end
      Elah.async { order << :ran }
      sleeper.wait
    end
    assert_equal %i[ran slept], order
  end

  def test_a_mutex_that_another_task_holds_is_awaited
    mutex = Mutex.new
    Elah.run do
      Elah.async { mutex.synchronize { sleep(0.05) } }
      assert_equal(:locked, Elah.async { blocking { mutex.synchronize { :locked } } }.value)
    end
  end

  def test_a_connection_that_another_task_has_taken_from_a_pool_is_awaited
    pool = Thread::Queue.new
    pool << :connection
    Elah.run do
      Elah.async do
        taken = pool.pop
        sleep(0.05)
        pool << taken
      end
      assert_equal(:connection, Elah.async { blocking { pool.pop } }.value)
    end
  end

  def test_it_belongs_to_its_task
    tasks = []
    is_ended = false
    Elah.run do
      task = Elah.async do
        tasks << Elah.current_loop.current_task
        blocking do
          tasks << Elah.current_loop.current_task
          sleep
        ensure
          is_ended = true
        end
      end
      task.cancel.wait
      assert_kind_of Elah::Cancelled, task.error
    end
    assert_same(*tasks)
    assert is_ended
  end

  def test_arguments_are_checked_as_by_ruby
    Elah.run do
      assert_raises(ArgumentError) { Fiber.new(unknown: true) { nil } }
      assert_raises(ArgumentError) { Fiber.new(blocking: true) }
      assert_equal(3, Fiber.new(blocking: true) { |value| value + 1 }.resume(2))
    end
  end

  def test_outside_of_tasks_a_fiber_is_what_the_caller_asks_for
    assert_predicate Fiber.new(blocking: true) { nil }, :blocking?
    refute_predicate Fiber.new { nil }, :blocking?
    Elah.run { assert_predicate Thread.new { Fiber.new(blocking: true) { nil } }.value, :blocking? }
  end

  def test_the_caller_can_still_block_the_loop
    skip "Ruby 3.2 and later have Fiber.blocking" unless Fiber.respond_to?(:blocking)

    order = []
    Elah.run do
      Elah.async { sleep(0) && order << :other }
      Fiber.blocking { sleep(0.01) && order << :blocked }
    end
    assert_equal %i[blocked other], order
  end

  private

  # Runs the block in a blocking fiber. A wait that blocks the loop ends by the timeout, which needs no scheduler.
  def blocking(&block) = Fiber.new(blocking: true) { Timeout.timeout(patience_seconds, &block) }.resume
end
