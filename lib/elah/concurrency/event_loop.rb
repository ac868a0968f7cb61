# frozen_string_literal: true

require_relative "../errors"
require_relative "../native"
require_relative "event_loop/cancellation"
require_relative "event_loop/draining"
require_relative "event_loop/fatal"
require_relative "event_loop/fiber_state"
require_relative "event_loop/forks"
require_relative "event_loop/posts"
require_relative "event_loop/serving"
require_relative "event_loop/starting"
require_relative "event_loop/survival"

module Elah
  # The Ruby half of a worker's loop: starts a fiber for each request, suspends and resumes fibers. The native half owns sockets and timers.
  #
  # Fibers switch with `transfer`, so a handler may use its own fibers (for example an Enumerator) and still be suspended inside them.
  class EventLoop
    include Cancellation
    include Draining
    include Forks
    include Posts
    include Serving
    include Starting
    include Survival
    extend Forks::Scheduling
    Process.singleton_class.prepend(Forks::Leaving)

    # @param limits [Hash{Symbol=>Numeric}] all limits of the core, by option name
    # @param router [Elah::Router]
    # @param streamed_routes [Array<Integer>] IDs of the routes whose handlers read the request body in pieces
    # @param gates [Hash{Elah::Framework::Gate=>Array<Integer>}] IDs of the routes whose running requests each gate limits
    # @param spawned_max [Integer] see {#spawn}
    # @param is_server [Boolean] whether it serves requests
    # @return [Elah::EventLoop] the one loop of this thread
    def self.start(limits:, router:, spawned_max:, streamed_routes: [], gates: {}, is_server: true)
      bounds = gates.map do |gate, routes|
        [routes, gate.running_max, gate.queue_max || limits[:queue_max], (gate.queue_seconds || limits[:queue_seconds]).to_f]
      end
      open(limits, router, streamed_routes, bounds).tap { |event_loop| event_loop.prepare(spawned_max, is_server) }
    end

    # Initialises the Ruby half; {start} calls it.
    #
    # @param spawned_max [Integer]
    # @param is_server [Boolean]
    def prepare(spawned_max, is_server)
      @root = Fiber.current
      @thread = Thread.current
      @is_server = is_server
      prepare_serving
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
      @spawned_max = spawned_max
      @cancels_gone = :all
      @drain_requested = @leaves_backlog = @ends_streams = @finishes = @closing = false
      @ending = @fatal = @drained_with = nil
      @failed = method(:fail_boot)
      prepare_starting
      expect_posts
      EventLoop.all << self
    end

    private_class_method :new, :allocate, :open

    # Runs until {request_drain} was called, every accepted request has its response, and the block has returned.
    #
    # @param handler [#handle] receives each Elah::Request in a fiber and responds to it
    # @param failed [#call] receives each exception that ended a handler or a spawned fiber, and its request or nil
    # @yield in a fiber, after the last response
    # @raise [SignalException] one that ended a handler
    def run(handler, failed, &finish)
      @handler = handler
      @failed = failed
      enter_ready # what was spawned at boot
      while true
        begin_drain if @drain_requested
        begin
          @handle.iterate
        rescue Exception => e # -- of another thread, or fatal
          outlive_interruption(e)
        end
        resume if news? # what has begun goes on before anything new
        while request_ready?
          task = @idle.pop
          next enter(task) if task

          start_serving or break
        end
        next unless news? || !@ready.empty?

        resume
        break if drained? && finished?(finish)
      end
      call_last_posted
    end

    # Runs until every spawned fiber has ended; it serves no requests.
    #
    # @param failed [#call] receives each exception that ended a spawned fiber, and nil
    def run_spawned_fibers(failed)
      @failed = failed
      enter_ready
      until @spawned.zero?
        @handle.iterate
        resume
      end
      call_last_posted
    end

    # @return [Thread] the one in which it runs
    # @api private
    attr_reader :thread

    # @return [Boolean] whether it serves requests; that of {Elah.run} does not
    # @api private
    def server? = @is_server

    # @return [Boolean] true in a fiber of this loop, false in the loop itself
    def in_task? = !@current.nil?

    # @return [Boolean] whether fibers run that would have no scheduler without that of this loop
    # @api private
    def needs_scheduler? = in_task? && !@is_fork

    # Suspends the current fiber until the wait `id` has ended.
    #
    # @param id [Integer] from {#new_wait}
    # @raise [Exception] the exception with which the fiber is cancelled meanwhile, or was cancelled while it ran
    def park(id)
      task = @current || waiting_task
      task.raise_postponed if task.postponed
      @waits[id] = task
      task.suspended = Fiber.current
      task.wait = id
      task.observer ? leave_observed(task.observer) : @root.transfer
      return unless task.raising

      exception = task.take_raising and raise(exception)
    rescue Exception # also from Ruby itself, which does not know the task
      @waits.delete(id)
      @current = task
      raise
    end

    # @return [Elah::Task] the running task, which may wait
    # @raise [Elah::OutsideLoop] in the loop itself
    def waiting_task = @current || raise(OutsideLoop, "Only a fiber of the worker's loop can wait here.")

    # Calls the block in the loop itself when the wait `id` has ended. The block must not wait.
    #
    # @param id [Integer] from {#new_wait}
    def after_wait(id, &callback) = @callbacks[id] = callback

    # Calls the block in the loop, unless the loop has ended by then.
    #
    # @param seconds [Numeric]
    # @return [Integer] for {#forget}
    def after(seconds, &callback)
      id = new_wait
      after_wait(id, &callback)
      start_timer(id, seconds.to_f)
      id
    end

    # Removes a wait, its timer, its descriptor and its callback.
    #
    # @param id [Integer]
    def forget(id)
      @callbacks.delete(id)
      cancel_wait(id)
    end

    # Runs the block in a new fiber of this loop: at once, until its first wait.
    #
    # @param task [Elah::Task]
    # @param options [Hash] of Fiber.new
    # @return [Fiber]
    # @raise [Elah::Overloaded] when `spawned_max` fibers run already, or the system refuses another one
    def spawn(task = Task.new, **options, &block)
      raise Overloaded, "#{@spawned} spawned fibers run already: try again later." if @spawned >= @spawned_max && !task.transient?

      task.suspended = task.fiber = fiber = Fiber.new(**options) { run_spawned(task, block) }
      start(task)
      fiber
    end

    # Suspends the current fiber until {#enter} is called with its task. The fiber is idle: it waits for nothing.
    #
    # @param task [Elah::Task]
    def park_idle(task)
      task.suspended = Fiber.current
      @root.transfer
    end

    # Resumes a task until it waits or becomes idle; only in the loop itself.
    #
    # @param task [Elah::Task]
    def enter(task)
      @current = task
      task.suspended.transfer
      @current = nil
      raise @fatal if @fatal
    rescue Exception => e # of the switch, or of a fiber that ended with it
      lost(task, e)
    end

    # Resumes the cancelled tasks first.
    def yield_to_others
      @current.suspended = Fiber.current
      @ready << @current
      @current.observer ? leave_observed(@current.observer) : @root.transfer
    end

    # Reports an exception that nobody else receives.
    #
    # @param exception [Exception]
    def report(exception) = failed(exception, nil)

    # @return [String] without its fibers: the message of a NoMethodError has it
    def inspect = "#<#{self.class}>"

    # @return [Elah::Task, nil] the running task
    def current_task = @current

    private

    def leave_observed(observer)
      observer.stop
      @root.transfer
    ensure
      observer.start
    end

    def resume
      resume_ended
      cancel_requests
      enter_ready
    end

    def enter_ready
      enter(@ready.shift) until @ready.empty?
    end

    def leave_task
      @current = nil
      raise @fatal if @fatal
    end

    def run_spawned(task, block)
      @spawned += 1 unless task.transient?
      block.call
    rescue Exception => e # as above
      end_fork(e)
      failed(e, nil)
    ensure
      end_fork
      task.finish { |exception| failed(exception, nil) } if task.endings
      @spawned -= 1 unless task.transient?
    end

    def resume_ended
      ended = ended_waits or return
      index = 0
      while (id = ended[index]) # `each` would put a frame of C below every fiber that goes on
        index += 1
        if (task = @waits.delete(id))
          enter(task)
        elsif (callback = @callbacks.delete(id))
          call_here(callback)
        end
      end
    end
  end
end
