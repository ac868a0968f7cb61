# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"

class AsyncTest < Minitest::Test
  def test_it_runs_at_once_and_gives_its_value
    Elah.run do
      order = []
      fiber = Elah.async { (order << :begun) && sleep(0.01) && :value }
      order << :after
      refute_predicate fiber, :done?
      assert_equal :value, fiber.value
      assert_predicate fiber, :done?
      assert_equal %i[begun after], order
      assert_equal :value, fiber.value
    end
  end

  def test_many_wait_for_one
    Elah.run do
      one = Elah.async { sleep(0.01) && 1 }
      assert_equal [1] * 3, Array.new(3) { Elah.async { one.value } }.map(&:value)
    end
  end

  def test_a_failure_is_raised_by_value_with_its_backtrace
    Elah.run do
      fiber = Elah.async { sleep(0.01) && {}.fetch(:missing) }
      error = assert_raises(KeyError) { fiber.value }
      assert_match(/#{File.basename(__FILE__)}:#{__LINE__ - 2}/, error.backtrace[1])
      assert_same error, fiber.error
    end
  end

  def test_a_wait_may_be_bounded
    Elah.run do
      gate = Thread::Queue.new
      fiber = Elah.async { gate.pop && 1 }
      assert_nil fiber.wait(0.01)
      gate << true
      assert_same fiber, fiber.wait(5)
    end
  end

  def test_cancelling_runs_ensure_and_value_says_so
    Elah.run do
      ended = []
      fiber = Elah.async { sleep_noting(ended, 1) }
      assert_same fiber, fiber.cancel.wait
      assert_equal [1], ended
      assert_raises(Elah::Cancelled) { fiber.value }
      fiber.cancel
      assert_equal [1], ended
    end
  end

  def test_what_a_fiber_started_ends_with_it
    Elah.run do
      ended = []
      gate = Thread::Queue.new
      detached = nil
      outer = Elah.async do
        Elah.async { sleep_noting(ended, :child) }
        detached = Elah.async(detached: true) { gate.pop && ended << :detached }
        sleep(0.01)
      end
      outer.wait
      assert_equal [:child], ended
      gate << true
      detached.wait
      assert_equal %i[child detached], ended
    end
  end

  # The pooled fiber of its parent served other requests, and it was taken for a part of these: entities that they
  # had called refused its calls as calls of themselves.
  def test_a_fiber_that_outlives_what_started_it_belongs_to_nothing_else
    Elah.run do
      gate = Thread::Queue.new
      survivor = nil
      Elah.async { Elah.async { (survivor = Elah.current_task) && Elah.shield { gate.pop } } && nil }.wait
      root = survivor.root
      gate << true
      assert_same survivor, root
    end
  end

  # The message was about another scheduler.
  def test_in_the_loop_itself_nothing_can_wait_for_fibers
    errors = Thread::Queue.new
    Elah.run do
      Elah.current_loop.post { errors << assert_raises(Elah::Error) { Elah.gather { flunk } } }
      assert_match(/call it in Elah.async/, errors.pop.message)
    end
  end

  def test_a_run_waits_for_what_its_block_started
    ended = []
    assert_equal 1, Elah.run { Elah.async { sleep(0.01) && ended << 2 } && 1 }
    assert_equal [2], ended
  end

  def test_a_failure_that_nobody_notices_is_reported_once
    _, warnings = capture_io do
      Elah.run do
        noticed = Elah.async { raise "noticed" }
        assert_raises(RuntimeError) { noticed.value }
        Elah.async { raise "unnoticed" }
        Elah.async(detached: true) { raise "on its own" }
        sleep(0)
      end
    end
    assert_equal 1, warnings.scan(": unnoticed").size
    assert_equal 1, warnings.scan(": on its own").size
    refute_match(/: noticed/, warnings)
  end

  # What starts fibers and goes on kept each one that had failed, with its stack, and the failure was not told: after
  # 32,000 of them the system refused further fibers.
  def test_a_failure_that_nobody_asks_for_is_reported_while_the_parent_goes_on
    mappings = []
    capture_io do
      Elah.run do
        3.times do
          500.times { Elah.async { sleep(0) && raise("unnoticed") } }
          sleep(0.01) # they run
          GC.start
          mappings << File.foreach("/proc/self/maps").count
        end
        Elah.timeout(60) { sleep(0.01) until $stderr.string.scan(": unnoticed").size == 1500 }
      end
    end
    assert_operator mappings.last - mappings.first, :<, 500, mappings.to_s
  end

  # It was reported in the loop itself, where no fiber can wait: a hook that waited for a lock stopped all requests.
  def test_a_failure_that_nobody_asks_for_is_reported_in_a_fiber
    Elah.run do
      told = Thread::Queue.new
      event_loop = Elah.current_loop
      event_loop.define_singleton_method(:after) { |_, &callback| super(0.001, &callback) }
      event_loop.define_singleton_method(:report) { |error| told << [error.message, Elah.current_loop] }
      Elah.async { raise "unnoticed" }
      assert_equal ["unnoticed", event_loop], told.pop
    end
  end

  # A misspelt method of one inspected the loop with all of its requests: seconds in which nothing else ran.
  def test_its_inspection_is_short
    Elah.run do
      fiber = Elah.async { sleep }
      assert_equal "#<Elah::Async>", fiber.inspect
      assert_equal "#<Elah::EventLoop>", Elah.current_loop.inspect
      assert_equal "#<Elah::Task>", Elah.current_task.inspect
      assert_match(/undefined method `?'?result/, assert_raises(NoMethodError) { fiber.result }.message)
      fiber.cancel
    end
  end

  def test_a_failed_run_ends_though_a_fiber_rescues_its_cancellation
    rescues = 0
    _, warnings = capture_io do
      assert_raises(RuntimeError) do
        Elah.run do
          Elah.async do
            sleep
          rescue Elah::Cancelled
            retry if (rescues += 1) < 2
          end
          raise "the block failed"
        end
      end
    end
    assert_equal 2, rescues
    assert_match(/Elah.run waits for fibers .* the block failed/m, warnings)
  end

  # It was about to run when the block failed, and nothing cancelled it.
  def test_a_failed_run_ends_though_a_fiber_was_about_to_wait
    first, second = Array.new(2) { Thread::Queue.new }
    error = assert_raises(RuntimeError) do
      Elah.run do
        Elah.async { loop { first.pop && Elah.async { sleep(0) } } }
        Elah.async { sleep(0) && first << 1 && second << 1 }
        second.pop
        raise "the block failed"
      end
    end
    assert_equal "the block failed", error.message
  end

  def test_exit_in_a_fiber_ends_the_run
    assert_equal 3, assert_raises(SystemExit) { Elah.run { Elah.async { exit 3 } } }.status
  end

  # Its loop was taken for one that needs its scheduler: the thread ended with SchedulerInUse, which blamed the app.
  def test_a_thread_that_is_killed_while_a_fiber_computes_ends
    begun = Thread::Queue.new
    thread = Thread.new { Elah.run { (begun << true) && loop { nil } } }
    thread.report_on_exception = false
    begun.pop
    assert_same thread, thread.kill.join(60)
  end

  def test_another_loop_cannot_wait_for_it
    Elah.run do
      fiber = Elah.async { sleep(0.05) }
      Thread.new { assert_raises(Elah::OutsideLoop) { fiber.value } }.join
      Thread.new { Elah.run { assert_raises(Elah::OutsideLoop) { fiber.value } } }.join
    end
  end

  def test_without_a_loop_there_is_none
    assert_match(/no loop/, assert_raises(Elah::OutsideLoop) { Elah.async { 1 } }.message)
    assert_raises(Elah::OutsideLoop) { Elah.every(1) { 1 } }
  end

  # The loop climbed from each to the first by recursion, and ended with SystemStackError.
  def test_fibers_that_start_one_another_end_with_their_loop_however_many
    Elah.run do
      nest = ->(depth) { depth.zero? ? sleep : Elah.async { nest.call(depth - 1) }.wait }
      Elah.async { nest.call(1500) }
      assert_empty Elah.current_loop.end_fibers("The test ends.")
    end
  end

  def test_ten_thousand_fibers
    assert_equal 10_000,
                 Elah.run { Array.new(10_000) { |index| Elah.async { sleep(0.01) && index } }.map(&:value).uniq.size }
  end

  def test_every_calls_again_and_again_until_it_is_cancelled
    calls = 0
    _, warnings = capture_io do
      Elah.run do
        handle = Elah.every(0.01) { (calls += 1) == 2 && raise("the second call") }
        sleep(0.005) until calls >= 4
        handle.cancel.wait
        seen = calls
        sleep(0.03)
        assert_equal seen, calls
      end
    end
    assert_match(/the second call/, warnings)
    [0, -1, "1", nil].each { |seconds| assert_raises(ArgumentError) { Elah.every(seconds) { 1 } } }
  end

  # They were kept until the whole ticker ended: failures that nobody heard of, and more of them with each call.
  def test_what_a_call_of_every_started_ends_with_that_call
    ended = []
    _, warnings = capture_io do
      Elah.run do
        calls = 0
        handle = Elah.every(0.005) do
          calls += 1
          Elah.async { sleep_noting(ended, calls) }
          Elah.async { raise "a child of call #{calls}" }
        end
        sleep(0.005) until calls >= 2
        assert_includes ended, 1
        handle.cancel.wait
      end
    end
    assert_match(/a child of call 1\b/, warnings)
  end

  def test_every_that_is_cancelled_while_a_call_is_tidied_up_ends
    Elah.run do
      tidied = []
      calls = 0
      handle = Elah.every(0.001) do
        calls += 1
        Elah.current_loop.current_task.at_end { sleep(0.02) && tidied << calls }
      end
      sleep(0.001) until calls.positive?
      assert_same handle, handle.cancel.wait(5)
      assert_equal [*1..calls], tidied
    end
  end

  # It took the Cancelled of the child for its own, and ended for good without a word.
  def test_every_goes_on_after_a_call_that_read_a_cancelled_fiber
    calls = 0
    _, warnings = capture_io do
      Elah.run do
        handle = Elah.every(0.005) { (calls += 1) && Elah.async { sleep }.cancel.value }
        Elah.timeout(30) { sleep(0.005) until calls >= 3 }
        handle.cancel.wait
      end
    end
    assert_match(/A spawned fiber failed: .*The fiber was cancelled/, warnings)
  end

  # The failure of a library that is missing, or `exit`, ended it with a line of the log.
  def test_every_goes_on_after_any_exception
    failures = [-> { raise NotImplementedError }, -> { require "no/such/file" }, -> { exit },
                -> { raise SecurityError }]
    left = failures.dup
    _, warnings = capture_io do
      assert_raises(SystemExit) do
        Elah.run do
          handle = Elah.every(0.001) { left.shift&.call }
          Elah.timeout(30) { sleep(0.001) until left.empty? }
          handle.cancel.wait
        end
      end
    end
    assert_match(/NotImplementedError.*LoadError.*SecurityError/m, warnings)
  end

  # With a block that rescues every error it continued, and nothing could end it any more.
  def test_every_ends_though_its_block_rescues_the_cancellation
    Elah.run do
      calls = 0
      handle = Elah.every(0.005) do
        calls += 1
        sleep
      rescue StandardError
        nil
      end
      sleep(0.001) until calls.positive?
      assert_same handle, handle.cancel.wait(30)
      assert_equal 1, calls
      assert_raises(Elah::Cancelled) { handle.value }
    end
  end

  # The block was cut in its wait when the run ended.
  def test_a_shielded_call_of_every_is_completed_at_the_end_of_a_run
    done = []
    Elah.run do
      Elah.every(0.001) do
        Elah.shield { [done << :charged, sleep(0.05), done << :recorded] }
      rescue StandardError # its cancellation too
        done << :ended
      end
      sleep(0.001) while done.empty?
    end
    assert_equal %i[charged recorded], done.first(2)
    assert_equal :ended, done.last
  end

  def test_every_does_not_keep_a_run_alive
    ended = []
    Elah.run do
      Elah.every(60) { nil }
      Elah.async { sleep(0.01) && ended << 1 }
    end
    assert_equal [1], ended
  end

  # It raised there, and nothing could end the fiber any more: it kept its locks and connections, and its loop ran on.
  def test_a_fiber_is_cancelled_from_any_thread
    steps = []
    Elah.run do
      task = Elah.async do
        sleep
      ensure
        steps << :ended
      end
      Elah.offload { task.cancel }
      assert_raises(Elah::Cancelled) { task.value }
    end
    assert_equal [:ended], steps
  end

  # One object was raised in all of them, with the backtrace of the first.
  def test_fibers_that_end_with_a_loop_share_no_exception
    begun = Thread::Queue.new
    seen = []
    Elah.run do
      2.times do
        Elah.every(0.001) do
          begun << 1
          sleep
        rescue Elah::Cancelled => e
          seen << e
          raise
        end
      end
      2.times { begun.pop }
    end
    assert_equal [2, 2], [seen.size, seen.uniq(&:object_id).size]
  end

  # It stayed in the line of the queue, on the stack of its fiber: the next push of another thread crashed the process.
  def test_no_fiber_is_in_the_line_of_a_queue_when_its_loop_has_ended
    queue = Thread::Queue.new
    runner = Thread.new do
      Elah.run do
        Elah.every(0.001) do
          queue.pop
        rescue StandardError
          retry
        end
        sleep
      end
    end
    Thread.pass until queue.num_waiting == 1
    runner.kill.join
    assert_equal 0, queue.num_waiting
  end

  # Who was cancelled once, as the late call of a gather is, was never cancelled again: a second attempt at a backend
  # that hangs outlived its request for ever.
  def test_a_fiber_that_rescues_its_cancellation_is_cancelled_again
    rescued = []
    late = nil
    Elah.run do
      request = Elah.async do
        Elah.gather(deadline: 0.01) do |gather|
          gather.call(:price, fallback: nil) do
            late = Elah.current_task.fiber
            begin
              sleep
            rescue StandardError => e
              rescued << e.class
              retry if rescued.size < 2
            end
          end
        end
        :done
      end
      assert_equal :done, request.value
      Elah.timeout(60) { sleep(0.01) while late.alive? }
    end
    assert_equal [Elah::DeadlineExceeded, Elah::Cancelled], rescued
  end

  def test_a_run_can_be_interrupted
    # A process that a shell starts in the background inherits that INT is ignored.
    script = <<~RUBY
      require "elah"
      trap(:INT, "DEFAULT")
      begin
        Elah.run { begin; puts("ready"); $stdout.flush; sleep; ensure; puts("cleaned"); end }
      rescue Interrupt
        puts "interrupted"
      end
    RUBY
    IO.popen([RbConfig.ruby, "-I#{File.expand_path('../../../lib', __dir__)}", "-e", script]) do |out|
      assert_equal "ready\n", out.gets
      Process.kill(:INT, out.pid)
      assert_equal "cleaned\ninterrupted\n", out.read
    end
  end

  private

  def sleep_noting(ended, name)
    sleep
  ensure
    ended << name
  end
end
