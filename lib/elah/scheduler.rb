# frozen_string_literal: true

require "timeout"
require_relative "event_loop"

module Elah
  # Ruby's Fiber::Scheduler contract on the worker's loop: `sleep`, sockets, Mutex, Queue, Thread#join and Timeout suspend the
  # calling fiber alone. Ruby calls these methods; applications don't.
  class Scheduler
    # @param event_loop [Elah::EventLoop]
    def initialize(event_loop)
      @loop = event_loop
      @blocked = {}.compare_by_identity
      @unblocked_early = {}.compare_by_identity
    end

    # @param duration [Numeric, nil] seconds; nil sleeps until it is unblocked
    def kernel_sleep(duration = nil)
      return block(:sleep) unless duration

      wait(seconds: duration)
      true
    end

    # @param blocker [Object] what the fiber waits for
    # @param timeout [Numeric, nil] seconds
    # @return [Boolean] false when the time was over first
    def block(_blocker, timeout = nil)
      fiber = Fiber.current
      return true if @unblocked_early.delete(fiber)

      wait(seconds: timeout) { |id| @blocked[fiber] = id }
      @blocked.delete(fiber).nil?
    ensure
      @blocked.delete(fiber)
    end

    # Ends a {block}. May be called from any thread and from a trap.
    #
    # @param blocker [Object]
    # @param fiber [Fiber]
    def unblock(_blocker, fiber)
      id = @blocked.delete(fiber)
      # Another thread may get here before the fiber has reached `block`.
      id ? @loop.end_wait(id) : @unblocked_early[fiber] = true
    end

    # @param io [IO]
    # @param events [Integer] bits of IO::READABLE, IO::PRIORITY and IO::WRITABLE
    # @param timeout [Numeric, nil] seconds
    # @return [Integer, false] the events that are ready; false when the time was over first
    def io_wait(io, events, timeout = nil)
      id = wait(seconds: timeout) { |wait| @loop.watch(wait, io.fileno, events) }
      @loop.readiness(id) || false
    end

    # Runs the block; after `duration` seconds raises in it where it waits.
    #
    # @param duration [Numeric] seconds
    # @param exception_class [Class]
    # @param message [String]
    def timeout_after(duration, exception_class = Timeout::Error, message = "execution expired")
      task = @loop.current_task
      id = @loop.new_wait
      @loop.after_wait(id) { @loop.cancel(task, exception_class.new(message)) }
      @loop.start_timer(id, duration.to_f)
      yield duration
    ensure
      @loop.forget(id) if id
    end

    # Runs the block of Fiber.schedule.
    #
    # @return [Fiber]
    def fiber(&block) = @loop.spawn(&block)

    # Ruby calls this when the thread ends; the worker has drained by then.
    def close; end

    private

    # Suspends the current fiber until the wait, which the block may tie to something, has ended or `seconds` have passed.
    def wait(seconds:)
      id = @loop.new_wait
      yield id if block_given?
      @loop.start_timer(id, seconds.to_f) if seconds
      @loop.park(id)
      id
    ensure
      @loop.cancel_wait(id) if seconds || $! # the timer, or what was tied to a wait that an exception ended
    end
  end
end
