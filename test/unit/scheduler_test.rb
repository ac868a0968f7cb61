# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"
require "io/wait"
require "open3"
require "rbconfig"
require "tempfile"
require "support/patience"

# What the standard library cannot show from outside: descriptors that are closed and used again, wake-ups that come
# early, late or twice, and the methods that only later Rubies call.
class SchedulerTest < Minitest::Test
  include Patience

  def test_a_descriptor_that_another_fiber_closes_ends_the_wait_with_an_io_error
    Elah.run do
      reader, _writer = IO.pipe
      waiting = failing { reader.read(1) }
      reader.close
      assert_kind_of IOError, waiting.value
      assert_predicate reader, :closed?
    end
  end

  def test_a_descriptor_that_another_thread_closes_ends_the_wait_alone
    Elah.run do
      reader, _writer = IO.pipe
      innocent = failing { sleep(0.05) && raise("woken in time") }
      waiting = failing { reader.wait_readable(5) }
      Thread.new { reader.close }.join
      assert_kind_of IOError, waiting.value
      assert_equal "woken in time", innocent.value.message
    end
  end

  def test_who_waits_again_for_a_descriptor_that_is_being_closed_is_told_again
    Elah.run do
      reader, _writer = IO.pipe
      errors = []
      waiting = failing do
        reader.wait_readable
      rescue IOError => e
        errors << e
        reader.wait_readable
      end
      reader.close
      assert_kind_of IOError, waiting.value
      assert_equal 1, errors.size
    end
  end

  def test_a_number_that_is_used_again_does_not_wake_who_waited_for_the_old_file
    Elah.run do
      old, _writer = IO.pipe
      number = old.fileno
      events = []
      Fiber.schedule { events << [:old, Fiber.scheduler.io_wait(Struct.new(:fileno).new(number), IO::READABLE, 0.5)] }
      other, writer = IO.pipe
      IO.for_fd(number, autoclose: false).reopen(other) # as if the driver had closed it behind Ruby's back
      writer.write("x")
      assert_equal number, old.wait_readable(1).fileno
      events << :new
      sleep(0.01) until events.size == 2
      assert_equal [:new, [:old, false]], events
    end
  end

  # The cleaning up after the wait failed first, with a NoMethodError for nil.
  def test_a_fiber_that_the_loop_does_not_know_is_told_that_it_cannot_wait
    Elah.run do
      errors = []
      waits = [-> { sleep(1) }, -> { Mutex.new.synchronize { ConditionVariable.new.wait(Mutex.new.tap(&:lock)) } }, -> { Timeout.timeout(1) { 1 } }]
      done = Thread::Queue.new
      Elah.current_loop.post do
        waits.each { |wait| Fiber.new { errors << assert_raises(Elah::OutsideLoop, &wait) }.resume }
        done << true
      end
      done.pop
      assert_equal waits.size, errors.size
    end
  end

  def test_a_plain_file_is_always_ready
    Elah.run { Tempfile.create { |file| assert_same file, file.wait_writable(1) } }
  end

  def test_io_wait_names_what_is_ready
    Elah.run do
      reader, writer = IO.pipe
      assert_equal IO::WRITABLE, Fiber.scheduler.io_wait(writer, IO::READABLE | IO::WRITABLE, 1)
      assert_equal false, Fiber.scheduler.io_wait(reader, IO::READABLE, 0.01)
      writer.write("x")
      assert_equal IO::READABLE, Fiber.scheduler.io_wait(reader, IO::READABLE, 1)
      assert_equal IO::READABLE, Fiber.scheduler.io_wait(reader, IO::READABLE)
    end
  end

  # A handler that computed made the calls of others time out whose replies had come in time.
  def test_what_became_ready_while_the_loop_was_blocked_is_ready
    Elah.run do
      reader, writer = IO.pipe
      both = -> { Fiber.scheduler.io_wait(reader, IO::READABLE | IO::PRIORITY, 0.01) }
      waits = [-> { reader.wait_readable(0.01) }, -> { writer.wait_writable(0.01) }, both]
      ready = waits.map { |wait| Elah.async(&wait) }
      hold_at_least(0.05) && writer.write("x")
      assert_equal [reader, writer, IO::READABLE], ready.map(&:value)
      assert_nil IO.pipe.first.wait_readable(0.01)
    end
  end

  # The loop looks for late data once more after the time limit. The fiber still waits then, as Ruby sees it.
  def test_a_descriptor_may_be_closed_while_late_data_is_looked_for
    Elah.run do
      reader, _writer = IO.pipe
      closing = nil
      Fiber.scheduler.define_singleton_method(:yield) do
        closing ||= Thread.new { reader.close }
        Thread.pass until closing.stop?
        super()
      end
      waiting = failing { reader.wait_readable(0.01) }
      assert_equal "stream closed in another fiber", waiting.value.message
      closing.join
    end
  end

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

  def test_select_looks_at_buffers_first
    Elah.run do
      reader, writer = IO.pipe
      writer.write("two\nlines\n")
      assert_equal "two\n", reader.gets
      assert_equal [[reader], [], []], IO.select([reader], nil, nil, 5)
      assert_equal [[], [writer], []], IO.select([], [writer], [], 5)
      assert_nil IO.select([IO.pipe.first], nil, nil, 0)
      assert_raises(ArgumentError) { IO.select([reader], nil, nil, -1) }
      assert_raises(TypeError) { IO.select([1], nil, nil, 1) }
    end
  end

  def test_a_select_whose_descriptor_is_closed_ends_with_an_io_error
    Elah.run do
      first, _first_writer = IO.pipe
      second, _second_writer = IO.pipe
      waiting = failing { IO.select([first, second]) }
      second.close
      assert_kind_of IOError, waiting.value
    end
  end

  def test_select_outside_a_fiber_is_rubys_own
    reader, writer = IO.pipe
    writer.write("x")
    assert_equal [[reader], [], []], IO.select([reader])
    assert_equal [[reader], [], []], select([reader])
  end

  def test_fiber_interrupt_raises_where_a_fiber_waits
    Elah.run do
      scheduler = Fiber.scheduler
      errors = []
      fiber = Fiber.schedule do
        sleep
      rescue IOError => e
        errors << e.message
      end
      Thread.new { scheduler.fiber_interrupt(fiber, IOError.new("interrupted")) }.join
      sleep(0.001) while fiber.alive?
      assert_equal ["interrupted"], errors
    end
  end

  # Stands for what Ruby 4.1 and later pass in place of the fiber: it raises there as long as the operation goes on.
  Operation = Struct.new(:fiber, :ended) do
    def alive? = !ended
    def raise(exception) = ended || fiber.raise(exception)
  end

  def test_fiber_interrupt_raises_through_a_proxy_of_the_operation
    Elah.run do
      reader, _writer = IO.pipe
      operation = Operation.new
      waiting = Elah.async do
        operation.fiber = Fiber.current
        assert_raises(IOError) { reader.wait_readable(60) }
        operation.ended = true
        [Elah.current_loop.current_task.fiber, Timeout.timeout(60) { sleep(0.001) && Fiber.current }]
      end
      innocent = Elah.async { sleep(0.01) && Elah.current_loop.current_task.fiber.equal?(Fiber.current) }
      2.times { Fiber.scheduler.fiber_interrupt(operation, IOError.new("closed")) }
      assert_equal [operation.fiber] * 2, waiting.value
      assert innocent.value, "the loop knows who runs"
    end
  end

  def test_yield_lets_the_others_go_first
    Elah.run do
      order = []
      Fiber.schedule { 3.times { |i| (order << [:a, i]) && Fiber.scheduler.yield } }
      Fiber.schedule { 3.times { |i| (order << [:b, i]) && Fiber.scheduler.yield } }
      sleep(0.001) until order.size == 6
      assert_equal [0, 0, 1, 1, 2, 2], order.map(&:last)
    end
  end

  def test_work_on_files_starts_no_thread
    started = []
    trace = TracePoint.new(:c_call) { |call| started << call.path if call.self.equal?(Thread) && call.method_id == :new }
    Elah.run do
      refute_respond_to Fiber.scheduler, :blocking_operation_wait # Ruby 3.4 and later would call it
      trace.enable { Dir.children("/etc").each { |name| File.stat("/etc/#{name}") if File.exist?("/etc/#{name}") } }
    end
    assert_empty started
  end

  # Ruby 3.4 and later would connect by several addresses at once, and ask no scheduler. Earlier ones have no such
  # switch: one is made up.
  def test_a_host_name_is_not_connected_to_behind_the_schedulers_back
    switch = Socket.respond_to?(:tcp_fast_fallback) ? "" : "Socket.singleton_class.attr_accessor(:tcp_fast_fallback); Socket.tcp_fast_fallback = true;"
    out, = Open3.capture2e(RbConfig.ruby, "-I", File.expand_path("../../lib", __dir__), "-rsocket", "-e",
                           "#{switch} require 'elah/concurrency/scheduler'; p Socket.tcp_fast_fallback")
    assert_equal "false\n", out
  end

  def test_to_connect_to_a_host_name_waits_in_the_scheduler
    resolved = []
    recorder = Module.new { define_method(:address_resolve) { |name| (resolved << name) && super(name) } }
    server = TCPServer.new("127.0.0.1", 0)
    Elah.run do
      Fiber.scheduler.singleton_class.prepend(recorder)
      TCPSocket.new("localhost", server.local_address.ip_port).close
    end
    assert_equal ["localhost"], resolved
  ensure
    server&.close
  end

  def test_the_timeout_of_an_io_ends_its_waits_alone
    skip "Ruby 3.2 and later have IO#timeout" unless IO.method_defined?(:timeout)

    Elah.run do
      reader, writer = IO.pipe
      reader.timeout = 0.05
      assert_kind_of IO::TimeoutError, failing { reader.read(1) }.value
      assert_kind_of IO::TimeoutError, failing { reader.gets }.value
      assert_nil reader.wait_readable(0.01)
      assert_nil IO.select([reader], nil, nil, 0.01)
      writer.write("x")
      assert_equal "x", reader.read(1)
    end
  end

  def test_processes_and_names
    Elah.run do
      assert_equal 3, Process::Status.wait(spawn("exit 3")).exitstatus
      assert_raises(SocketError) { TCPSocket.new("no-such-host.invalid", 80) }
    end
  end

  def test_the_block_decides_what_a_run_gives
    assert_equal 5, Elah.run { Elah.run { sleep(0) && 5 } }
    assert_equal("boom", assert_raises(RuntimeError) { Elah.run { raise "boom" } }.message)
    ended = []
    assert_equal 1, Elah.run { Fiber.schedule { sleep(0.01) && ended << 2 } && 1 }
    assert_equal [2], ended
  end

  def test_what_was_spawned_is_cancelled_when_the_block_fails
    ended = []
    assert_raises(RuntimeError) do
      Elah.run do
        Fiber.schedule do
          sleep
        rescue Elah::Cancelled => e
          ended << e.message
        end
        raise "boom"
      end
    end
    assert_equal ["The block of Elah.run failed: RuntimeError."], ended
  end

  private

  # The exception that the block ends with, in a fiber of its own.
  def failing
    ended = Thread::Queue.new
    Fiber.schedule do
      yield
    rescue StandardError => e
      ended << e
    end
    Struct.new(:queue) { def value = @value ||= queue.pop }.new(ended)
  end

  # Runs the block in another thread while this fiber runs on.
  def finish(&block)
    thread = Thread.new(&block)
    Thread.pass while thread.alive?
  end

  # Holds the loop, as code does that computes.
  def hold_at_least(seconds)
    finish_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish_at
    true
  end
end
