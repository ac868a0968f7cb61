# frozen_string_literal: true

require_relative "errors"
require_relative "log"
require_relative "native"
require_relative "task"
require_relative "event_loop/cancellation"
require_relative "event_loop/draining"
require_relative "event_loop/fiber_state"
require_relative "event_loop/forks"
require_relative "event_loop/posts"

module Elah
  # The loop of a worker, from the side of its fibers: starts one for each request, suspends and resumes them. The native half
  # owns sockets and timers.
  #
  # Fibers are entered and left with `transfer`, so that a handler may use fibers of its own (an Enumerator, for one) and still
  # be suspended from inside them.
  class EventLoop
    include Cancellation
    include Draining
    include Forks
    include Posts
    extend Forks::Scheduling

    # Idle fibers that are kept for the next requests; one costs about 13 KB once it has run.
    POOL_MAX = 1024

    # Exceptions that are not a request's affair: they end the worker.
    FATAL = [NoMemoryError, SignalException].freeze

    # @param limits [Hash{Symbol=>Numeric}] every bound of the core by its option name
    # @param router [Elah::Router]
    # @param streamed_routes [Array<Integer>] ids of the routes whose handlers read the request body bit by bit
    # @param gates [Hash{Elah::API::Gate=>Array<Integer>}] ids of the routes whose running requests each gate bounds
    # @param responders [Array<Array(Integer, Object)>] ids of routes, each with what answers plain requests before its handler begins
    # @return [Elah::EventLoop] the one loop of this thread
    # @raise [TypeError] when something else was given as a responder
    def self.start(limits:, router:, streamed_routes: [], gates: {}, responders: [])
      bounds = gates.map do |gate, routes|
        [routes, gate.running_max, gate.queue_max || limits[:queue_max], (gate.queue_seconds || limits[:queue_seconds]).to_f]
      end
      open(limits, router, streamed_routes, bounds, responders).tap(&:prepare)
    end

    # Sets up the Ruby half; {start} calls it.
    def prepare
      @root = Fiber.current
      @idle = []
      @waits = {}
      @callbacks = {}
      @ready = []
      @posted = []
      @endings = []
      @in_forks = []
      @is_fork = false
      @open_streams = {}.compare_by_identity
      @fiber_state = FiberState.new(Thread.current)
      @spawned = 0
      @cancels_gone = :all
      @drain_requested = @leaves_backlog = @ends_streams = false
      @failed = ->(exception, _request) { raise exception }
      expect_posts
    end

    private_class_method :new, :allocate, :open

    # Runs until {request_drain} was called and everything accepted before it is answered.
    #
    # @param handler [#handle] gets each Elah::Request in a fiber of its own, and answers it
    # @param failed [#call] gets each exception that a handler or a spawned fiber ended with, and its request or nil
    # @raise [NoMemoryError, SignalException] one that ended a handler
    def run(handler, failed)
      @handler = handler
      @failed = failed
      enter_ready # what was spawned at boot
      while true
        begin_drain if @drain_requested
        @handle.turn
        resume if news? # what has begun goes on before anything new
        enter(@idle.pop || new_task) while request_ready?
        next unless news? || !@ready.empty?

        resume
        break if drained?
      end
      call_posted
    end

    # Runs until every fiber that was spawned has ended; nothing is served.
    #
    # @param failed [#call] gets each exception that a spawned fiber ended with, and nil
    def run_spawned_fibers(failed)
      @failed = failed
      enter_ready
      until @spawned.zero?
        @handle.turn
        resume
      end
      call_posted
    end

    # Ends whatever waits, and closes the loop and its scheduler, also when one of these steps fails.
    #
    # @param reason [String] what the fibers that still wait are told
    def shut_down(reason)
      cancel_all(Cancelled.new(reason))
    ensure
      begin
        Fiber.set_scheduler(nil)
      ensure
        close
        @endings.each(&:call)
      end
    end

    # Calls the block when the loop has been shut down.
    def at_end(&block) = @endings << block

    # @return [Boolean] true in a fiber of this loop, false in the loop itself
    def in_task? = !@current.nil?

    # Suspends the current fiber until the wait `id` has ended.
    #
    # @param id [Integer] from {#new_wait}
    # @raise [Exception] whatever the fiber is cancelled with meanwhile, or was while it ran
    def park(id)
      task = waiting_task
      postponed = task.next_postponed and raise postponed
      @waits[id] = task
      task.suspended = Fiber.current
      task.wait = id
      task.meter ? leave_metered(task.meter) : @root.transfer
    end

    # @return [Elah::Task] the task that is running, which may wait
    # @raise [Elah::OutsideLoop] in the loop itself
    def waiting_task = @current || raise(OutsideLoop, "Only a fiber of the worker's loop can wait here.")

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
    # @param task [Elah::Task]
    # @param options [Hash] of Fiber.new
    # @return [Fiber]
    def spawn(task = Task.new, **options, &block)
      task.suspended = fiber = Fiber.new(**options) { run_spawned(task, block) }
      @spawned += 1 unless task.transient?
      @current ? step_aside_for(task) : enter(task)
      fiber
    end

    # Suspends the current fiber until {#enter} is called with its task: it has nothing to do, and waits for nothing.
    #
    # @param task [Elah::Task]
    def rest(task)
      task.suspended = Fiber.current
      @root.transfer
    end

    # Lets a task go on until it waits or rests; in the loop itself alone.
    #
    # @param task [Elah::Task]
    def enter(task)
      @current = task
      if task.raising
        task.suspended.raise(task.take_raising)
      else
        task.suspended.transfer
      end
      @current = nil
      raise @fatal if @fatal
    end

    # Lets the tasks go first that have been cancelled.
    def step_aside
      @current.suspended = Fiber.current
      @ready << @current
      @root.transfer
    end

    # Reports an exception that nobody else will.
    #
    # @param exception [Exception]
    def report(exception) = failed(exception, nil)

    # @return [Elah::Task, nil] the task that is running
    def current_task = @current

    private

    def leave_metered(meter)
      meter.stop
      @root.transfer
    ensure
      meter.go_on
    end

    def resume
      resume_ended
      cancel_requests
      enter_ready
    end

    def enter_ready
      enter(@ready.shift) until @ready.empty?
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
      @fiber_state.watch(task)
      handler = @handler
      task.suspended = fiber = Fiber.new(**FiberState::OPTIONS) do
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

    def serve_ready(task, handler)
      request = next_request(nil)
      while request
        task.request = request
        begin
          handler.handle(request)
        rescue Exception => e # the loop must outlive whatever a handler does
          end_fork(e) if @is_fork
          failed(e, request)
        end
        end_fork if @is_fork
        task.finish { |exception| failed(exception, request) } if task.endings
        @fiber_state.clear(task) if task.fiber_state
        request = next_request(request)
      end
      task.request = nil
    end

    def run_spawned(task, block)
      block.call
    rescue Exception => e # as above
      end_fork(e)
      failed(e, nil)
    ensure
      end_fork
      task.finish { |exception| failed(exception, nil) } if task.endings
      @spawned -= 1 unless task.transient?
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
  end
end
