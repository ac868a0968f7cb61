# frozen_string_literal: true

require_relative "scheduler"
require_relative "../server/signal_listener"

module Elah
  # The loop of `Elah.run`. It serves no requests, and ends with its fibers.
  class OwnLoop
    # Runs the block and the fibers that it spawns.
    #
    # @return [Object] the block's value
    def run(&block)
      refuse(Fiber.scheduler) if Fiber.scheduler

      config = Config.build
      @loop = EventLoop.start(limits: config.limits, router: Router.new, spawned_max: config.spawned_max, is_server: false)
      Fiber.set_scheduler(Scheduler.new(@loop))
      Store::Watch.start(@loop, Log.current)
      @signal_listener = SignalListener.start if Thread.current == Thread.main
      value_of(&block)
    ensure
      close if @loop
    end

    private

    def refuse(scheduler)
      raise Error, "Another fiber scheduler runs on this thread: #{scheduler.class}." unless scheduler.is_a?(Scheduler)

      raise OutsideLoop, "Nothing can wait here for fibers of this loop: call it in Elah.async, or run a loop in a thread of its own: " \
                         "Thread.new { Elah.run { ... } }.value"
    end

    def value_of
      value = failure = nil
      root = Task.new.tap { |task| task.keeps_children = true }
      @loop.spawn(root) do
        value = yield
      rescue Exception => e # -- it is raised again
        @loop.end_fork(e)
        failure = e
        @loop.after(Async::AGAIN_SECONDS) { warn("Elah.run waits for fibers that rescue their cancellation. Its block failed: #{e.full_message}") }
        @loop.cancel_all(EventLoop::Cancellation.of_all("The block of Elah.run failed: #{e.class}."))
      end
      run_fibers
      end_transient_fibers unless @loop.unended.empty? && @loop.in_flight.zero?
      failure ||= @exit
      failure ? raise(failure) : value
    end

    def run_fibers = @loop.run_spawned_fibers(->(exception, _request) { failed(exception) })

    # Those that repeat something get the time for their `ensure` and shielded blocks, and posted commands for their replies.
    def end_transient_fibers
      @loop.spawn do
        @loop.end_fibers("The loop ends.")
        @loop.await_replies
      end
      run_fibers
    end

    def failed(exception)
      return @exit ||= exception if exception.is_a?(SystemExit)
      return if exception.is_a?(Cancelled) && @loop.ending

      warn("A spawned fiber failed: #{exception.full_message(highlight: false)}")
      ErrorReports.report(exception)
    end

    # Fibers that an interrupt left behind get a chance to clean up.
    def close
      Entity::Peers.close_all(@loop) unless Elah.autoload?(:Entity)
      @loop.shut_down("The loop ends.")
    ensure
      @signal_listener&.kill
    end
  end
end
