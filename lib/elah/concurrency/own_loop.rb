# frozen_string_literal: true

require_relative "../config"
require_relative "scheduler"
require_relative "../server/signal_listener"

module Elah
  # The loop of `Elah.run`. It serves no requests, and ends with its fibers.
  class OwnLoop
    # Runs the block and the fibers that it spawns.
    #
    # @return [Object] the block's value
    def run(&block)
      Fiber.scheduler and raise Error, "Another fiber scheduler runs on this thread: #{Fiber.scheduler.class}."

      config = Config.build
      @loop = EventLoop.start(limits: config.limits, router: Router.new, spawned_max: config.spawned_max, is_server: false)
      Fiber.set_scheduler(Scheduler.new(@loop))
      @signal_listener = SignalListener.start if Thread.current == Thread.main
      value_of(&block)
    ensure
      close if @loop
    end

    private

    def value_of
      value = failure = nil
      root = Task.new.tap { |task| task.keeps_children = true }
      @loop.spawn(root) do
        value = yield
      rescue Exception => e # -- it is raised again
        failure = e
        @loop.cancel_all(Cancelled.new("The block of Elah.run failed: #{e.class}."))
      end
      @loop.run_spawned_fibers(->(exception, _request) { failed(exception) })
      failure ||= @exit
      failure ? raise(failure) : value
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
