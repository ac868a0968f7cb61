# frozen_string_literal: true

require_relative "errors"
require_relative "native"
require_relative "task"

module Elah
  # The loop of a worker, from the side of its fibers: starts one for each request, suspends and resumes them. The native half
  # owns sockets and timers.
  #
  # Fibers are entered and left with `transfer`, so that a handler may use fibers of its own (an Enumerator, for one) and still
  # be suspended from inside them.
  class EventLoop
    # Idle fibers that are kept for the next requests; one costs about 13 KB once it has run.
    POOL_MAX = 1024

    # Exceptions that are not a request's affair: they end the worker.
    FATAL = [NoMemoryError, SignalException].freeze

    # @param limits [Hash{Symbol=>Numeric}] every bound of the core by its option name
    # @param router [Elah::Router]
    # @param streamed_routes [Array<Integer>] ids of the routes whose handlers read the request body bit by bit
    # @return [Elah::EventLoop] the one loop of this thread
    def self.start(limits:, router:, streamed_routes: [])
      open(limits, router, streamed_routes).tap(&:prepare)
    end

    # Sets up the Ruby half; {start} calls it.
    def prepare
      @root = Fiber.current
      @idle = []
      @waits = {}
      @callbacks = {}
      @ready = []
    end

    # Runs until {request_drain} was called and everything accepted before it is answered.
    #
    # @param handler [#handle] gets each Elah::Request in a fiber of its own, and answers it
    # @param failed [#call] gets each exception that a handler or a spawned fiber ended with, and its request or nil
    # @raise [NoMemoryError, SignalException] one that ended a handler
    def run(handler, failed)
      @handler = handler
      @failed = failed
      until drained?
        drain if @drain_requested
        turn
        enter(@idle.pop || new_task) while request_ready?
        resume_ended
        cancel_overdue
        enter(@ready.shift) until @ready.empty?
      end
    end

    # Asks the loop to stop accepting and to end when it has answered what it has. May be called from a trap or another thread.
    def request_drain
      @drain_requested = true
      interrupt
    end

    # @return [Boolean] true in a fiber of this loop, false in the loop itself
    def in_task? = !@current.nil?

    # Suspends the current fiber until the wait `id` has ended.
    #
    # @param id [Integer] from {#new_wait}
    # @raise [Exception] whatever the fiber is cancelled with meanwhile
    def park(id)
      task = @current or raise OutsideLoop, "Only a fiber of the worker's loop can wait here."
      @waits[id] = task
      task.suspended = Fiber.current
      task.wait = id
      @root.transfer
    end

    # Calls the block in the loop itself when the wait `id` has ended. The block must not wait.
    #
    # @param id [Integer] from {#new_wait}
    def after_wait(id, &callback) = @callbacks[id] = callback

    # Forgets a wait, its timer, its descriptor and its callback.
    #
    # @param id [Integer]
    def forget(id)
      @callbacks.delete(id)
      cancel_wait(id)
    end

    # Runs the block in a new fiber of this loop: at once, until it waits for the first time.
    #
    # @return [Fiber]
    def spawn(&block)
      task = Task.new
      task.suspended = Fiber.new { run_spawned(block) }
      return enter(task).then { task.suspended } unless @current

      step_aside_for(task)
      task.suspended
    end

    # Raises `exception` in the fiber that a task is suspended in.
    #
    # @param task [Elah::Task]
    # @param exception [Exception]
    def cancel(task, exception)
      @waits.delete(task.wait) or return
      cancel_wait(task.wait)
      enter(task, exception)
    end

    # @return [Elah::Task, nil] the task that is running
    def current_task = @current

    private

    def enter(task, exception = nil)
      @current = task
      exception ? task.suspended.raise(exception) : task.suspended.transfer
      @current = nil
      raise @fatal if @fatal
    end

    # Lets `task` run first; the current fiber goes on in the same turn.
    def step_aside_for(task)
      current = @current
      current.suspended = Fiber.current
      @ready << current
      @current = task
      task.suspended.transfer
    end

    # A fiber that serves one request after the other for as long as there are any: while no handler waits, a whole turn's
    # requests cost no switch. When one does wait, the loop lets another fiber go on with the rest.
    def new_task
      task = Task.new
      handler = @handler
      task.suspended = fiber = Fiber.new do
        while true
          serve_ready(task, handler)
          break if @idle.size >= POOL_MAX || @fatal

          task.suspended = fiber
          @idle << task
          @root.transfer
        end
      end
      task
    end

    # The handler is a local: an instance variable of a native object is looked up in a table.
    def serve_ready(task, handler)
      request = next_request(nil)
      while request
        task.request = request
        begin
          handler.handle(request)
        rescue Exception => e # the loop must outlive whatever a handler does
          failed(e, request)
        end
        request = next_request(request)
      end
      task.request = nil
    end

    def run_spawned(block)
      block.call
    rescue Exception => e # as above
      failed(e, nil)
    end

    def failed(exception, request)
      @fatal = exception if FATAL.any? { |fatal| fatal === exception }
      @failed.call(exception, request)
    end

    def resume_ended
      ended = ended_waits or return
      ended.each do |id|
        if (task = @waits.delete(id))
          enter(task)
        else
          @callbacks.delete(id)&.call
        end
      end
    end

    def cancel_overdue
      overdue = cancelled_requests or return
      overdue.each do |key, _reason|
        task = @waits.each_value.find { |waiting| waiting.request&.key == key }
        cancel(task, DeadlineExceeded.new("The request took longer than its deadline.")) if task
      end
    end
  end
end
