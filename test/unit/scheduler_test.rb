# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"
require "io/wait"
require "open3"
require "rbconfig"
require "tempfile"
require "support/patience"

# What the standard library cannot show from outside: descriptors that are closed and used again, and the methods that
# only later Rubies call.
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
      waits = [-> { sleep(1) },
               -> { Mutex.new.synchronize { ConditionVariable.new.wait(Mutex.new.tap(&:lock)) } },
               -> { Timeout.timeout(1) { 1 } }]
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
    trace = TracePoint.new(:c_call) do |call|
      started << call.path if call.self.equal?(Thread) && call.method_id == :new
    end
    Elah.run do
      refute_respond_to Fiber.scheduler, :blocking_operation_wait # Ruby 3.4 and later would call it
      trace.enable { Dir.children("/etc").each { |name| File.stat("/etc/#{name}") if File.exist?("/etc/#{name}") } }
    end
    assert_empty started
  end

  # Ruby 3.4 and later would connect by several addresses at once, and ask no scheduler. Earlier ones have no such
  # switch: one is made up.
  def test_a_host_name_is_not_connected_to_behind_the_schedulers_back
    switch = "Socket.singleton_class.attr_accessor(:tcp_fast_fallback); Socket.tcp_fast_fallback = true;"
    switch = "" if Socket.respond_to?(:tcp_fast_fallback)
    out, = Open3.capture2e(RbConfig.ruby, "-I", File.expand_path("../../lib", __dir__), "-rsocket", "-e",
                           "#{switch} require 'elah'; Elah.run { nil }; p Socket.tcp_fast_fallback")
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

  # Holds the loop, as code does that computes.
  def hold_at_least(seconds)
    finish_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
    nil while Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish_at
    true
  end
end
