# frozen_string_literal: true

require "test_helper"
require "monitor"
require "open3"
require "support/patience"

# Mutex and Monitor between the fibers of a loop, and between these and threads.
class LocksTest < Minitest::Test
  include Patience

  LIB = File.expand_path("../../../lib", __dir__)

  # As a Logger that requests and threads share. Ruby 3.1 called the scheduler in the middle of an unlock: a thread that
  # took the lock there broke its lists, and two fibers were inside the other lock, or the process aborted.
  SCRIPT = <<~'RUBY'
    log, other = Monitor.new, Mutex.new
    reader, writer = IO.pipe
    Thread.new { loop { reader.readpartial(65_536) } }
    write = ->(*) { log.synchronize { writer.write("x" * 100) } }
    inside = 0
    Elah.run do
      fibers = Array.new(16) do
        Elah.async do
          200.times do
            other.synchronize do
              raise "two are inside" if (inside += 1) > 1
              sleep 0.0005
              inside -= 1
            end
            5.times(&write)
          end
        end
      end
      Array.new(4) { Thread.new { 10.times { write.call } } }.each(&:join) until fibers.all?(&:done?)
      fibers.each(&:value)
    end
    print "ended"
  RUBY

  def test_threads_and_fibers_share_locks
    output, status = Open3.capture2e(RbConfig.ruby, "-W0", "-I#{LIB}", "-relah", "-rmonitor", "-e", SCRIPT)
    assert_equal "ended", output[0, 2000]
    assert_predicate status, :success?
  end

  LOCKS = { mutex: -> { Mutex.new }, monitor: -> { Monitor.new } }.freeze

  LOCKS.each do |name, maker|
    define_method(:"test_fibers_take_a_#{name}_in_their_order") do
      lock = maker.call
      order = []
      Elah.run do
        first = Elah.async { lock.synchronize { sleep 0.01 } }
        sleep 0
        others = Array.new(5) { |index| Elah.async { lock.synchronize { order << index } } }
        [first, *others].each(&:value)
      end
      assert_equal [0, 1, 2, 3, 4], order
    end

    define_method(:"test_a_fiber_takes_a_#{name}_that_a_thread_gives_free") do
      lock = maker.call
      held, given = Thread::Queue.new, Thread::Queue.new
      thread = Thread.new { lock.synchronize { (held << 1) && given.pop } }
      held.pop
      value = Elah.run do
        waiting = Elah.async { lock.synchronize { :taken } }
        sleep 0
        refute_predicate waiting, :done?
        given << 1
        waiting.value
      end
      thread.join
      assert_equal :taken, value
    end

    define_method(:"test_a_fiber_that_is_cancelled_in_the_line_of_a_#{name}_leaves_it") do
      lock = maker.call
      given = Thread::Queue.new
      taken = Elah.run do
        Elah.async { lock.synchronize { given.pop } }
        sleep 0
        late = Elah.async { Elah.timeout(0.01) { lock.synchronize { flunk } } }
        next_one = Elah.async { lock.synchronize { :taken } }
        assert_raises(Elah::DeadlineExceeded) { late.value }
        given << 1
        next_one.value
      end
      assert_equal :taken, taken
    end
  end

  def test_a_monitor_is_entered_again_by_its_owner_while_others_wait
    lock = Monitor.new
    order = Elah.run do
      seen = []
      owner = Elah.async { lock.synchronize { sleep(0.01) && lock.synchronize { seen << :again } } }
      sleep 0
      other = Elah.async { lock.synchronize { seen << :other } }
      [owner, other].each(&:value)
      seen
    end
    assert_equal %i[again other], order
  end

  def test_who_waits_for_a_monitor_gets_it_while_its_owner_waits_for_a_condition
    lock = Monitor.new
    ready = lock.new_cond
    Elah.run do
      is_ready = false
      waiting = Elah.async { lock.synchronize { ready.wait_until { is_ready } } }
      signals = Elah.async { lock.synchronize { (is_ready = true) && ready.signal } }
      Elah.timeout(patience_seconds) { [waiting, signals].each(&:value) }
    end
  end

  # They take the lock again in the line of the Monitor's own Mutex, whose unlock is native. All but one stood still.
  def test_all_who_wait_for_a_condition_of_a_monitor_go_on
    lock = Monitor.new
    ready = lock.new_cond
    ended = Elah.run do
      waiting = Array.new(5) { |index| Elah.async { lock.synchronize { ready.wait && index } } }
      sleep 0
      lock.synchronize { ready.broadcast && sleep(0.005) }
      late = Array.new(5) { |index| Elah.async { lock.synchronize { ready.wait(0.001) || index } } }
      Elah.timeout(patience_seconds) { [*waiting, *late].map(&:value) }
    end
    assert_equal 10, ended.size
  end

  # Each that left the line was compared to all that waited: 4,000 fibers took seconds of the loop's time.
  def test_who_leaves_a_long_line_is_not_compared_to_all_in_it
    compared = 0
    Fiber.define_method(:==) { |other| (compared += 1) && super(other) }
    lock = Mutex.new
    Elah.run do
      gate = Thread::Queue.new
      Elah.async { lock.synchronize { gate.pop } }
      fibers = Array.new(200) { Elah.async { lock.synchronize { nil } } }
      fibers.last(100).each(&:cancel)
      gate << true
      fibers.each(&:wait)
    end
    assert_operator compared, :<, 1000
  ensure
    Fiber.remove_method(:==)
  end

  def test_a_lock_that_the_fiber_holds_and_one_that_it_does_not_hold_are_errors
    lock = Mutex.new
    errors = Elah.run do
      [lock.synchronize { assert_raises(ThreadError) { lock.lock } }, assert_raises(ThreadError) { lock.unlock }]
    end
    assert_match(/recursive/, errors[0].message)
    refute_predicate lock, :locked?
  end
end
