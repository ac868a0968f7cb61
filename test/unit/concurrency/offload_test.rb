# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"

class OffloadTest < Minitest::Test
  class Driver
    def fetch(key, default: nil)
      yield key if block_given?
      [Thread.current, key, default, secret]
    end

    private

    def secret = Thread.current
  end

  def setup
    @pool = Elah::Offload::Pool.new(threads: 2, queue_max: 1)
  end

  def test_the_block_runs_in_a_thread_and_the_loop_goes_on
    Elah.run do
      gate = Thread::Queue.new
      Fiber.schedule { 10.times { sleep(0.001) } && gate << true }
      # A thread that waits knows nothing of the loop, as a driver does that waits in C.
      assert_equal 5, Elah.offload { gate.pop && 5 }
      refute_same Thread.current, Elah.offload { Thread.current }
    end
  end

  def test_outside_a_loop_and_in_a_thread_of_the_pool_it_just_calls
    assert_same Thread.current, Elah.offload { Thread.current }
    Elah.run { assert(Elah.offload(@pool) { Elah.offload(@pool) { Thread.current }.equal?(Thread.current) }) }
  end

  def test_what_the_block_raises_keeps_class_and_backtrace
    Elah.run do
      error = assert_raises(KeyError) { Elah.offload(@pool) { {}.fetch(:missing) } }
      assert_match(/#{File.basename(__FILE__)}:#{__LINE__ - 1}/, error.backtrace[1])
      assert_raises(SystemExit) { Elah.offload(@pool) { exit } }
      assert_raises(UncaughtThrowError) { Elah.offload(@pool) { throw :nobody } }
      assert_equal 1, Elah.offload(@pool) { 1 }
    end
  end

  # A report in a block was made as the user, and in the language, of an earlier block in the same thread.
  def test_a_block_finds_nothing_of_the_blocks_before_it
    pool = Elah::Offload::Pool.new(threads: 1)
    Elah.run do
      Elah.offload(pool) { Thread.current[:user] = "alice" }
      assert_empty Elah.offload(pool) { Thread.current.keys }
    end
  end

  def test_a_block_inherits_the_variables_of_its_fiber
    return unless Fiber.respond_to?(:[]) # Ruby 3.2 brings them

    pool = Elah::Offload::Pool.new(threads: 1)
    Elah.run do
      users = %w[alice bob].map do |user|
        Elah.async do
          Fiber[:user] = user
          [Elah.offload(pool) { [Fiber[:user], Fiber[:user] = "other"].first }, Fiber[:user]]
        end
      end
      assert_equal [%w[alice alice], %w[bob bob]], users.map(&:value)
    end
  end

  # Its waiting neighbours, and all later blocks, get another thread.
  def test_a_block_that_ends_its_thread_fails_alone
    pool = Elah::Offload::Pool.new(threads: 1, queue_max: 10)
    Elah.run do
      ends = [-> { Thread.exit }, -> { Thread.current.kill }]
      3.times do
        failing = ends.map { |way| Elah.async { Elah.offload(pool, &way) } }
        waiting = Elah.async { Elah.offload(pool) { 1 } }
        failing.each { |fiber| assert_match(/ended its thread/, assert_raises(ThreadError) { fiber.value }.message) }
        assert_equal 1, Elah.timeout(10) { waiting.value }
        assert_equal 1, pool.size
      end
    end
  end

  def test_threads_and_queue_are_bounded
    Elah.run do
      gate = Thread::Queue.new
      results = Thread::Queue.new
      3.times { Fiber.schedule { results << Elah.offload(@pool) { gate.pop } } }
      error = assert_raises(Elah::Overloaded) { Elah.offload(@pool) { :never } }
      assert_equal "2 threads are busy and 1 blocks wait for them: try again later.", error.message
      assert_equal [503, "overloaded"], [error.status, error.code]
      3.times { |index| gate << index }
      assert_equal [0, 1, 2], Array.new(3) { results.pop }.sort
      assert_equal 2, @pool.size
    end
  end

  # While all threads hung, the queue grew by each block that was cancelled in it.
  def test_cancelled_blocks_count_until_a_thread_comes_to_them
    pool = Elah::Offload::Pool.new(threads: 1, queue_max: 2)
    begun = Thread::Queue.new
    gate = Thread::Queue.new
    Elah.run do
      hanging = Elah.async { Elah.offload(pool) { (begun << true) && gate.pop } }
      begun.pop
      3.times { Elah.async { Elah.offload(pool) { flunk } }.cancel.wait }
      assert_raises(Elah::Overloaded) { Elah.timeout(30) { Elah.offload(pool) { flunk } } }
      gate << 1
      assert_equal 1, hanging.value
      begin
        assert_equal(2, Elah.offload(pool) { 2 })
      rescue Elah::Overloaded # the thread is on its way through them
        sleep(0.001)
        retry
      end
    end
  end

  def test_a_cancel_is_raised_in_the_block_and_the_fiber_goes_on_after_its_ensure
    Elah.run do
      begun = Thread::Queue.new
      seen = []
      fiber = Elah.async do
        Elah.offload(@pool) do
          begun << true
          blocking_sleep(5)
        ensure
          blocking_sleep(0.05)
          seen << :cleaned
        end
      end
      begun.pop
      assert_raises(Elah::Cancelled) { fiber.cancel.value }
      assert_equal [:cleaned], seen
      assert_equal 1, Elah.offload(@pool) { 1 }, "the next block meets nothing of it"
    end
  end

  # It had no effect in a thread: a charge was made, and not recorded.
  def test_a_shield_in_the_block_holds_off_what_cancels_the_fiber
    begun, gate = Array.new(2) { Thread::Queue.new }
    seen = []
    Elah.run do
      fiber = Elah.async do
        Elah.offload(@pool) do
          Elah.shield { Elah.shield { (begun << true) && gate.pop } && seen << :recorded }
          seen << :never
        end
      end
      begun.pop
      fiber.cancel
      sleep(0) # the fiber passes it on
      gate << true
      assert_raises(Elah::Cancelled) { fiber.value }
      assert_equal 1, Elah.offload(@pool) { 1 }
    end
    assert_equal [:recorded], seen
  end

  def test_no_cancellation_is_raised_in_a_shield_that_it_meets_at_its_beginning_or_end
    begun = ended = 0
    Elah.run do
      200.times do
        Timeout.timeout(0.001) do
          Elah.offload(@pool) { loop { Elah.shield { (begun += 1) && blocking_sleep(0) && ended += 1 } } }
        end
      rescue Timeout::Error
        assert_equal begun, ended
      end
    end
    assert_operator ended, :>, 0
  end

  def test_a_block_has_the_deadline_of_its_fiber
    Elah.run do
      assert_nil Elah.offload(@pool) { Elah.deadline }
      Elah.timeout(1000) { assert_in_delta 1000, Elah.offload(@pool) { Elah.deadline }, 100 }
    end
  end

  def test_a_block_that_has_not_begun_when_it_is_cancelled_never_runs
    Elah.run do
      gate = Thread::Queue.new
      2.times { Fiber.schedule { Elah.offload(@pool) { gate.pop } } }
      ran = false
      assert_raises(Timeout::Error) { Timeout.timeout(0.02) { Elah.offload(@pool) { ran = true } } }
      2.times { gate << 1 }
      assert_equal 2, Elah.offload(@pool) { 2 }
      refute ran
    end
  end

  def test_many_timeouts_that_race_with_the_end_of_their_blocks_never_hit_another
    Elah.run do
      outcomes = Array.new(300) do
        Timeout.timeout(0.001) { Elah.offload(@pool) { blocking_sleep(0.001) && :slept } }
      rescue Timeout::Error
        :late
      end
      assert_empty outcomes - %i[slept late]
      assert_equal [1] * 50, Array.new(50) { Elah.offload(@pool) { 1 } }
    end
  end

  def test_methods_of_a_driver_are_moved
    driver = Class.new(Driver)
    Elah::Offload.wrap(driver, :fetch, :secret, pool: @pool)
    Elah.run do
      seen = nil
      thread, key, default, secret_thread = driver.new.fetch(:a, default: 1) { |given| seen = given }
      refute_same Thread.current, thread
      assert_same thread, secret_thread
      assert_equal [:a, 1, :a], [key, default, seen]
    end
    assert_same Thread.current, driver.new.fetch(:a).first
    assert_raises(NoMethodError) { driver.new.secret }
    assert_match(/missing/, assert_raises(NameError) { Elah::Offload.wrap(driver, :missing) }.message)
  end

  def test_a_fork_has_threads_of_its_own
    Elah.run { Elah.offload(@pool) { 1 } }
    reader, writer = IO.pipe
    Process.wait(fork { Elah.run { writer.write(Elah.offload(@pool) { "in the child" }) } && exit!(0) })
    assert_equal "in the child", reader.read_nonblock(100)
  end

  # The queue kept it, with all that it refers to, until a thread came to it.
  def test_a_block_that_is_given_up_before_it_begins_is_let_go
    Elah.run do
      job = Elah::Offload::Job.new(Elah.current_loop, -> { flunk })
      Elah.async { job.value }.cancel.wait
      assert_nil job.instance_variable_get(:@block)
      assert_nil job.run
    end
  end

  def test_a_pool_needs_a_thread
    assert_raises(ArgumentError) { Elah::Offload::Pool.new(threads: 0) }
  end

  private

  # In a thread it waits without any scheduler.
  def blocking_sleep(seconds) = sleep(seconds)
end
