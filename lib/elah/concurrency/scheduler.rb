# frozen_string_literal: true

require "socket"
require "timeout"
require_relative "event_loop"
require_relative "scheduler/autoload"
require_relative "scheduler/backticks"
require_relative "scheduler/closing"
require_relative "scheduler/file_lock"
require_relative "scheduler/interrupt_masks"
require_relative "scheduler/last_status"
require_relative "scheduler/locks"
require_relative "scheduler/mutex_sleep"
require_relative "scheduler/name_lookup"
require_relative "scheduler/nonblocking_fibers"
require_relative "scheduler/select"
require_relative "scheduler/thread_join"
require_relative "scheduler/working_directory"

module Elah
  # Ruby's Fiber::Scheduler contract on the worker's loop: `sleep`, sockets, Mutex, Queue, Thread#join, processes, names, File#flock
  # and Timeout suspend the calling fiber alone. Ruby calls these methods; applications don't.
  #
  # `io_read` and `io_write` are left out on purpose: Ruby would call them for plain files too, which are always ready. So is
  # `blocking_operation_wait`: Ruby 3.4 and later would call it for each `stat`, `open` and entry of a folder, and a thread costs far more.
  class Scheduler
    # Ruby 3.4 and later connect to a host name by several addresses at once, without the scheduler: the whole loop would wait.
    ::Socket.tcp_fast_fallback = false if ::Socket.respond_to?(:tcp_fast_fallback=)

    # Number of recorded early wake-ups beyond which those of dead fibers are deleted.
    EARLY_MAX = 100

    # @return [Elah::EventLoop]
    attr_reader :event_loop

    # @param event_loop [Elah::EventLoop] of this thread
    def initialize(event_loop)
      @loop = @event_loop = event_loop
      @thread = Thread.current
      @sleepers = {}.compare_by_identity
      @woken_early = {}.compare_by_identity
      @lookups = {}
      @watches = Closing.watches_of(event_loop)
      @lines = {}
      @blocks_until = nil
    end

    # @param duration [Numeric, nil] seconds; nil sleeps until it is woken, 0 lets other fibers run first
    # @return [Boolean] true
    # @raise [TypeError, ArgumentError] see {Interval}
    def kernel_sleep(duration = nil)
      Interval.check(duration)&.zero? ? self.yield : block(:sleep, duration)
      true
    end

    # @param blocker [Object] the object that the fiber waits for
    # @param timeout [Numeric, nil] seconds
    # @return [Boolean] false after a timeout
    # @raise [Elah::OutsideLoop] in the loop itself, as in a hook that runs in it
    def block(blocker, timeout = nil)
      task = @loop.waiting_task
      fiber = Fiber.current
      id = task.wait = timeout ? @loop.new_timer(timeout) : @loop.new_wait
      @sleepers[fiber] = [task, id]
      is_over = false
      begin
        return true if !@woken_early.empty? && woken_early?(fiber, blocker)
        return true if @blocks_until && true_while_loading?(timeout) { task.woken == id } # see Autoload

        @loop.park(id)
        is_over = !(woken = task.woken == id)
        woken
      ensure
        @sleepers.delete(fiber)
        @loop.cancel_wait(id) if timeout && !is_over # its timer is over otherwise
      end
    end

    # Ends a {block}. May be called from any thread and from a trap.
    #
    # @param blocker [Object]
    # @param fiber [Fiber]
    def unblock(blocker, fiber)
      task, wait = @sleepers[fiber] || asleep_since(blocker, fiber) # not `task.wait`, which may be another one by now
      return unless task

      task.wake(wait)
      @loop.end_wait(wait)
    end

    # @param io [IO]
    # @param events [Integer] bits of IO::READABLE, IO::PRIORITY and IO::WRITABLE
    # @param timeout [Numeric, nil] seconds
    # @return [Integer, false] the ready events; false after a timeout
    # @raise [IOError] when another fiber closes the descriptor meanwhile
    # @raise [IO::TimeoutError] after the timeout of the IO itself, which Ruby 3.2 and later have
    def io_wait(io, events, timeout = nil)
      descriptor = io.fileno
      limit = timeout || own_timeout(io)
      id = @loop.new_wait
      return events unless @loop.watch(id, descriptor, events) # a plain file, always ready

      ready = park_watching([descriptor], id, limit) { @loop.readiness(id) || late_readiness(id) } and return ready
      raise IO::TimeoutError, "The IO was not ready within its timeout of #{limit} s." if limit && !timeout

      false
    ensure
      @loop.cancel_wait(id) if id && (limit || $!)
    end

    # IO.select. Ruby 3.2 and later call it; on 3.1 {Select::Cooperation} does.
    #
    # @param readables [Array<IO>, nil]
    # @param writables [Array<IO>, nil]
    # @param exceptables [Array<IO>, nil]
    # @param timeout [Numeric, nil] seconds
    # @return [Array(Array<IO>, Array<IO>, Array<IO>), nil] nil after a timeout
    def io_select(readables, writables = nil, exceptables = nil, timeout = nil)
      select = Select.new(readables, writables, exceptables, timeout)
      return in_thread { Select.native(readables, writables, exceptables, timeout) } if select.many?

      select.wait { |interests, seconds| wait_for_any(interests, seconds) }
    end

    # What ends the block of a Timeout without a class. A `rescue => e` in the block does not rescue it, as without a scheduler.
    class Expired < Exception; end # rubocop:disable Lint/InheritException
    private_constant :Expired

    # Runs the block; after `duration` seconds it raises in the block, at its wait.
    #
    # @param duration [Numeric] seconds
    # @param exception_class [Class, Exception] Timeout::Error where the caller names none; from version 0.6 of the gem timeout on, its own exception
    # @param message [String]
    # @raise [Exception] also Timeout::Error
    def timeout_after(duration, exception_class = Timeout::Error, message = "execution expired", &block)
      unless exception_class.equal?(Timeout::Error)
        kind = exception_class.is_a?(Exception) ? exception_class.class : exception_class
        return @loop.limit(duration, -> { exception_class.exception(message) }, kind, &block)
      end

      begin
        expired = Expired.new(message)
        @loop.limit(duration, -> { expired }, InterruptMasks::TIMEOUT, &block)
      rescue Expired => e
        raise unless e.equal?(expired)

        raise exception_class, message, e.backtrace
      end
    end

    # A task that no longer waits for a process may wait again. When the task ends, a thread waits, so the process does not become a zombie.
    #
    # @param process_id [Integer] as for Process.wait
    # @param flags [Integer]
    # @return [Process::Status, nil]
    def process_wait(process_id, flags)
      last_status = LastStatus.of(task = @loop.waiting_task)
      return last_status.status if flags == LastStatus::RESTORE

      last_status.update { in_thread(ends_at_once: true) { Process::Status.wait(process_id, flags) } }
    rescue Exception
      task&.at_end { Process.detach(process_id) } if process_id.positive?
      raise
    end

    # All fibers that wait for a name share its look-up.
    #
    # @param name [String]
    # @return [Array<String>]
    # @raise [SocketError, Elah::Overloaded] see {NameLookup#addresses}
    def address_resolve(name) = (@lookups[name] || NameLookup.new(@loop, @lookups, name) { addresses(name) }).addresses

    # Waits until no fiber is before the calling one, and then for the lock. {FileLock} calls it.
    #
    # @param file [File]
    # @param operation [Integer] of File#flock
    # @return [Integer] 0
    def lock_in_turn(file, operation)
      stat = file.stat
      line = @lines[key = [stat.dev, stat.ino]] ||= Semaphore.new(1, queue_max: Float::INFINITY)
      line.acquire { file.flock(operation | File::LOCK_NB) || lock_in_thread(file, operation) }
    ensure
      @lines.delete(key) if line&.free == 1
    end

    # Raises in a waiting fiber, from any thread, because its descriptor is closed. Ruby 4.0 and later call it.
    #
    # @param target [Fiber, #raise] see {EventLoop::Cancellation#interrupt_fiber}
    # @param exception [Exception]
    def fiber_interrupt(target, exception)
      @loop.post { @loop.interrupt_fiber(target, exception) }
    end

    # Lets all other ready fibers run first. Ruby 4.0 and later call it.
    def yield
      id = @loop.new_wait
      @loop.end_wait(id)
      @loop.park(id)
    end

    # Runs the block of Fiber.schedule.
    #
    # @param options [Hash] of Fiber.new
    # @return [Fiber]
    def fiber(**options, &block) = @loop.spawn(**options, &block)

    # Ruby calls this when the thread ends, and when a fiber sets another scheduler. The fibers of the loop need this one as long as the loop runs.
    #
    # @raise [Elah::SchedulerInUse]
    def close
      return Closing.forget(@watches) unless @loop.needs_scheduler?

      @loop.post { Fiber.set_scheduler(self) unless Fiber.scheduler } # from Ruby 3.2 on it is unset nevertheless
      raise SchedulerInUse, "The fiber scheduler of this thread is Elah's, which all requests need. Code that sets another one, such as the gem " \
                            "async, needs a thread of its own: call it in Elah.offload."
    end

    private

    def addresses(name) = Addrinfo.getaddrinfo(name, nil, nil, :STREAM).map(&:ip_address).uniq

    if IO.method_defined?(:timeout)
      def own_timeout(io) = io.timeout
    else
      def own_timeout(_io) = nil
    end

    # A loop that was blocked for longer than the time limit sees the end of the time first.
    def late_readiness(id)
      self.yield
      @loop.readiness(id)
    end

    def park_watching(descriptors, id, timeout)
      @watches.during(descriptors, @loop.current_task) do
        @loop.start_timer(id, timeout.to_f) if timeout
        @loop.park(id)
        yield if block_given? # still watched, because it may wait
      end
    end

    def wait_for_any(interests, seconds)
      id = @loop.new_wait
      @loop.watch_any(id, interests)
      park_watching(interests.map(&:first), id, seconds)
    ensure
      @loop.cancel_wait(id)
    end

    # An open file has the lock, whichever thread has asked for it.
    def lock_in_thread(file, operation)
      in_thread(ends_at_once: true, value: :value.to_proc) { file.flock(operation) }
    rescue Exception
      file.flock(File::LOCK_UN) unless file.closed? # the thread may have got it at its end
      raise
    end

    # The thread ends with the wait, so a cancelled fiber leaves no thread behind. It hands over its exception as a value: with
    # Thread.abort_on_exception, one that ended the thread would be raised in the loop too. A thread that waits for a process has to end at once: it
    # would still take the status from the fiber's next wait. One that waits for a lock would take it.
    def in_thread(ends_at_once: false, value: method(:value_of))
      thread = Thread.new do
        [yield, nil]
      rescue Exception => e # -- the fiber raises it
        [nil, e]
      end
      result, failure = value.call(thread)
      raise failure if failure

      result
    ensure
      thread&.kill
      Thread.pass while ends_at_once && thread&.alive?
    end

    def value_of(thread) = thread.value

    # Another thread may wake a fiber that is on a list of waiters but has not called `block` yet. A thread that ends names the thread of the fiber
    # that joins it, where `block` names the thread that ends.
    def woken_early?(fiber, blocker)
      noted = @woken_early.delete(fiber)
      noted.equal?(blocker) || (noted.equal?(@thread) && blocker.is_a?(Thread))
    end

    # Records an early wake-up by another thread, and looks again: the fiber may have called `block` since the first look.
    #
    # @return [Array(Task, Integer), nil] of the fiber that waits now, and its wait
    def asleep_since(blocker, fiber)
      return if Thread.current.equal?(@thread)

      note_early(blocker, fiber)
      @sleepers[fiber]&.tap { @woken_early.delete(fiber) }
    end

    def note_early(blocker, fiber)
      @woken_early.keys.each { |noted| @woken_early.delete(noted) unless noted.alive? } if @woken_early.size >= EARLY_MAX
      @woken_early[fiber] = blocker
    end
  end
end
