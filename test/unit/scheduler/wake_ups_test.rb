# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"
require "open3"
require "support/patience"

# Wake-ups of fibers that come early, late, twice or from another thread.
class SchedulerWakeUpsTest < Minitest::Test
  include Patience

  def test_a_wake_up_that_came_twice_ends_one_wait
    Elah.run do
      queue = Thread::Queue.new
      got = Fiber.schedule { queue.pop }
      2.times { Fiber.scheduler.unblock(queue, got) }
      queue << 1
      assert_operator(measure { sleep(0.05) }, :>=, 0.05)
      refute_predicate got, :alive?
    end
  end

  def test_a_wake_up_from_another_thread_may_come_before_the_fiber_sleeps
    Elah.run do
      blocker = Object.new
      scheduler = Fiber.scheduler
      fiber = Fiber.current
      finish { scheduler.unblock(blocker, fiber) }
      assert_operator(measure { assert scheduler.block(blocker, 60) }, :<, 50)
      assert_equal false, scheduler.block(blocker, 0.01)
    end
  end

  # Threads that closed descriptors together went on before the waiting fibers had left them. Ruby 3.1 raised "stream
  # closed in another thread" in whatever the thread of the loop ran, and ended `Elah.run`.
  def test_what_a_post_posts_runs_after_the_fibers_that_it_has_woken
    Elah.run do
      event_loop = Elah.current_loop
      order = []
      waiting = Elah.async do
        sleep
      ensure
        order << :woken
      end
      waking = -> { waiting.cancel && event_loop.post { order << :posted } }
      finish { [-> {}, waking, -> {}].each { |posted| event_loop.post(&posted) } }
      wait_until("both have run") { sleep(0.001) && order.size == 2 }
      assert_equal %i[woken posted], order
    end
  end

  # A thread that ends wakes in the name of the thread that joins it. One that ended just before the fiber slept was
  # never noticed: of 1,000 calls of Open3.capture3 a few stood still until the deadline of their request.
  def test_a_thread_may_end_before_the_fiber_that_joins_it_sleeps
    Elah.run do
      gate = Thread::Queue.new
      thread = Thread.new { gate.pop }
      Fiber.scheduler.define_singleton_method(:block) do |*arguments|
        gate << :end
        Thread.pass while thread.alive?
        super(*arguments)
      end
      assert_operator(measure { assert_equal :end, Timeout.timeout(60) { thread.value } }, :<, 50)
    end
  end

  # Another thread saw no sleeper and was interrupted; its wake-up came when the fiber had looked for early ones.
  def test_a_fiber_that_sleeps_while_another_thread_records_a_wake_up_is_woken
    Elah.run do
      blocker = Object.new
      scheduler = Fiber.scheduler
      fiber = Fiber.current
      begins = Thread::Queue.new
      scheduler.define_singleton_method(:note_early) do |*noted|
        begins << true
        Thread.pass until @sleepers[fiber]
        super(*noted)
      end
      waker = Thread.new { scheduler.unblock(blocker, fiber) }
      Thread.pass until begins.size == 1
      assert_operator(measure { assert scheduler.block(blocker, 60) }, :<, 50)
      waker.join
    end
  end

  # The thread had seen the fiber wait, and woke it when its time was up and it waited for something else: the exception
  # was raised a second time there, or the next one never.
  def test_a_wake_up_that_comes_late_leaves_the_next_wait_alone
    Elah.run do
      queue = Thread::Queue.new
      is_over = false
      Elah.current_loop.current_task.define_singleton_method(:wake) do |*wait|
        Thread.pass until is_over
        super(*wait)
      end
      thread = nil
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.05) { (thread = Thread.new { queue << 1 }) && queue.pop }
      end
      is_over = true
      Thread.pass while thread.alive?
      assert_operator(measure { assert_raises(Timeout::Error) { Timeout.timeout(0.05) { sleep(60) } } }, :<, 50)
    end
  end

  # The thread had found the fiber, and woke it in its next wait: sleeps and time limits ended early.
  def test_a_thread_that_has_found_a_fiber_does_not_wake_it_in_its_next_wait
    Elah.run do
      queue = Thread::Queue.new
      is_over = false
      own = Thread.current
      Fiber.scheduler.instance_variable_get(:@sleepers).define_singleton_method(:[]) do |fiber|
        super(fiber).tap { Thread.pass until is_over || Thread.current.equal?(own) }
      end
      thread = nil
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.05) { (thread = Thread.new { queue << 1 }) && queue.pop }
      end
      Elah.async { sleep(0) && (is_over = true) && (Thread.pass while thread.alive?) }
      assert_raises(Timeout::Error) { Timeout.timeout(0.05) { sleep(60) } }
    end
  end

  def test_a_wake_up_for_something_else_does_not_end_a_sleep
    Elah.run do
      scheduler = Fiber.scheduler
      fiber = Fiber.current
      finish { scheduler.unblock(Object.new, fiber) }
      assert_operator(measure { sleep(0.05) }, :>=, 0.05)
    end
  end

  def test_a_condition_variable_with_a_timeout_is_signalled
    Elah.run do
      mutex = Mutex.new
      changed = ConditionVariable.new
      Fiber.schedule { sleep(0.01) && changed.signal }
      assert_operator(measure { mutex.synchronize { changed.wait(mutex, 60) } }, :<, 50)
    end
  end

  private

  # Runs the block in another thread while this fiber runs on.
  def finish(&block)
    thread = Thread.new(&block)
    Thread.pass while thread.alive?
  end
end
