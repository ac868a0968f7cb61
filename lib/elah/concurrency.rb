# frozen_string_literal: true

require "timeout"

module Elah
  # The methods of {Elah} for concurrency, such as `Elah.run { }`. They use the loop of the calling fiber.
  module Concurrency
    # The thread variable with the {Offload::Job} that the thread runs. Here it is known without the file, which another thread may be loading.
    OFFLOADED_JOB = :elah_offloaded_job

    # @return [Float] seconds of the monotonic clock
    # @api private
    def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    # Looks again and again, in a thread, until the block returns true or the time is over.
    #
    # @param seconds [Numeric]
    # @api private
    def self.poll(seconds)
      due = now + seconds
      sleep(0.005) until yield || now > due
    end

    # @param task [Elah::Task]
    # @return [Float, nil] remaining seconds, at least 0; nil when there is no limit. That of a request changes, as it has none once its response has
    #   begun
    # @api private
    def self.seconds_left_to(task)
      due = task.due
      own = due && [due - now, 0.0].max
      left = task.bounding_request&.seconds_left or return own
      own && own < left ? own : left
    end

    # @param task [Elah::Task]
    # @return [Float, nil] the end of its remaining time, in seconds of the monotonic clock
    # @api private
    def self.due_of(task) = seconds_left_to(task)&.+(now)

    # Runs the block in a new loop in this thread, until the block and all fibers that it spawned have ended. Inside a fiber of a loop it calls the
    # block directly.
    #
    # @yieldreturn [T]
    # @return [T] the block's value
    # @raise [Exception] the exception of the block; the fibers that it spawned are cancelled
    # @raise [Elah::Error] when another fiber scheduler runs on this thread
    def run(&block) = current_loop ? yield : OwnLoop.new.run(&block)

    # Starts the block in a new fiber: it runs at once, until its first wait. It ends with the request or fiber that started it, and has the same
    # deadline.
    #
    # @param detached [Boolean] whether it continues, without the deadline, when the request or fiber that started it has ended
    # @yieldreturn [Object]
    # @return [Async]
    # @raise [Elah::OutsideLoop] when this thread has no loop
    def async(detached: false, &block) = start(Task.new, detached, &block)

    # Calls the block repeatedly, `seconds` apart, for the first time after `seconds`. A call that takes longer delays the next one. A call that
    # fails is reported, and the next one runs on time. Fibers that a call started end with that call. The repetition ends as {async} does; if
    # started at the boot of a worker, it ends with the worker.
    #
    # With `once:`, one worker of the server, or of the cluster, makes the calls: see {Entity::Job}. Start it in the hook
    # `before_worker_boot`, in every worker.
    #
    # @param seconds [Numeric]
    # @param detached [Boolean] see {async}
    # @param once [String, nil] name of the job, unique in the store
    # @param store [Elah::Store, nil] keeps the time of the job's next call; nil uses the database of the option `cluster`, or the store in
    #   the folder `data`
    # @return [Async, Entity::Job::Participation] handle to cancel it
    # @raise [ArgumentError] when `seconds` is no positive number, or with `once:` above {Store::TTL_SECONDS_MAX}
    # @raise [Elah::OutsideLoop] when this thread has no loop
    def every(seconds, detached: false, once: nil, store: nil, &block)
      is_time = seconds.is_a?(Numeric) && seconds.positive?
      raise ArgumentError, "Seconds between two calls must be a number above 0, not #{seconds.inspect}." unless is_time
      return Entity::Job.start(loop_of_thread, once, { "seconds" => Entity::Job.interval(seconds) }, store, &block) if once

      repeat(Task.transient, seconds, detached, &block)
    end

    # As {every}, for what Elah itself does as long as the loop runs: it is no fiber of the app.
    #
    # @param seconds [Numeric]
    # @return [Async]
    # @api private
    def watch(seconds, &block) = repeat(Task.service, seconds, true, &block)

    # Calls the block once a day, in one worker of the server, or of the cluster: see {Entity::Job}. Start it in the hook
    # `before_worker_boot`, in every worker.
    #
    # @param time [String, Symbol] such as "03:30", in the time zone of the process
    # @param once [String] see {every}
    # @param store [Elah::Store, nil] see {every}
    # @return [Entity::Job::Participation] handle to cancel it
    # @raise [ArgumentError] when the time is none of a day
    # @raise [Elah::OutsideLoop] when this thread has no loop
    def daily(time, once:, store: nil, &block)
      raise ArgumentError, "The time of a daily job is HH:MM, not #{time.inspect}." unless /\A([01]\d|2[0-3]):[0-5]\d\z/.match?(time.to_s)

      Entity::Job.start(loop_of_thread, once, { "at" => time.to_s }, store, &block)
    end

    # Runs calls concurrently and collects their results until a deadline. A call without a result by then has its fallback. A failing call does not
    # affect others.
    #
    #   Elah.gather(deadline: 0.15) do |g|
    #     g.call(:price, fallback: nil) { prices.get(id) }
    #     g.call(:stock, fallback: 0) { stock.get(id) }
    #   end.to_h # => { price: 12, stock: 0 }
    #
    # A call that needs no fiber, such as a call of an entity, is passed in place of the block: see {Gather#call}.
    #
    # @param deadline [Numeric, nil] seconds for all calls together
    # @yieldparam gather [Gather] for `call`
    # @return [Gather::Results]
    def gather(deadline: nil, &block)
      event_loop = current_loop or return run { gather(deadline: deadline, &block) }
      Gather.new(event_loop, deadline).collect(&block)
    end

    # Runs the block; after `seconds` it raises in the block, at its current or next wait. Outside a loop it ends the block as Ruby's `Timeout`
    # does: no `rescue => e` in the block rescues it.
    #
    # @param seconds [Numeric]
    # @yieldparam seconds [Numeric]
    # @yieldreturn [T]
    # @return [T] the block's value
    # @raise [Elah::DeadlineExceeded]
    def timeout(seconds, &block)
      event_loop = current_loop or return timeout_of_thread(seconds, &block)
      task = event_loop.current_task
      task.due_by(Concurrency.now + seconds) do |limit|
        passed = lambda do
          limit.due = nil
          DeadlineExceeded.new(late(seconds))
        end
        event_loop.limit(seconds, passed, DeadlineExceeded, &block)
      end
    end

    # The remaining time: of the request, of {timeout}, or of the request or fiber that started this fiber, whichever is least.
    #
    # @return [Float, nil] seconds, at least 0; nil when there is no limit
    def deadline
      task = current_task
      task && Concurrency.seconds_left_to(task)
    end

    # Runs a block that is not cancelled halfway. An exception from outside (a deadline, a client that disconnects) is raised when the block has
    # ended. Time limits that begin inside the block work as usual.
    #
    # @yieldreturn [T]
    # @return [T] the block's value
    # @raise [Exception] the deferred exception
    def shield(&block)
      task = current_loop&.current_task
      return (job = offloaded_job) ? job.shielded(&block) : yield unless task

      result = task.shielded(&block)
      task.raise_postponed
      result
    end

    # Runs the block in a thread while only the calling fiber waits: for libraries that would block the loop. See {Offload::Pool#call}.
    #
    # @param pool [Offload::Pool]
    # @yieldreturn [T]
    # @return [T] the block's value
    # @raise [Exception] what the block raised
    # @raise [Elah::Overloaded] when too many callers wait for a thread
    def offload(pool = Offload.default, &block) = pool.call(&block)

    # @return [Elah::EventLoop, nil] the loop of the calling fiber; nil outside one
    # @api private
    def current_loop
      event_loop = thread_loop
      event_loop if event_loop&.in_task?
    end

    # @return [Elah::Task, nil] what the calling code belongs to: a request, a spawned fiber or a block of {offload}
    # @api private
    def current_task = current_loop&.current_task || offloaded_job&.task

    private

    # @return [Offload::Job, nil]
    def offloaded_job = Thread.current.thread_variable_get(OFFLOADED_JOB)

    def thread_loop
      scheduler = Fiber.scheduler
      scheduler.event_loop if defined?(Scheduler) && scheduler.is_a?(Scheduler)
    end

    def loop_of_thread
      thread_loop or raise OutsideLoop, "This thread has no loop: call it in a handler, in the hook before_worker_boot, or in Elah.run."
    end

    def start(task, detached, &block)
      event_loop = loop_of_thread
      parent = event_loop.current_task unless detached
      Async.new(event_loop, parent: parent, task: task, &block)
    end

    def repeat(task, seconds, detached, &block)
      event_loop = loop_of_thread
      due = Concurrency.now
      timer = start(task, detached) do
        while true
          due = [due + seconds, Concurrency.now].max
          sleep([due - Concurrency.now, 0].max)
          call_reporting(event_loop, task, timer, &block)
          ended = timer.cancellation || event_loop.ending and raise ended # the block may have rescued it
        end
      end
    end

    def call_reporting(event_loop, task, timer)
      begin
        yield
        event_loop.end_fork
      rescue EventLoop::Fatal
        raise
      rescue Exception => e # -- a call may raise any: NotImplementedError, SystemStackError, `exit`, the Cancelled of another fiber
        event_loop.end_fork(e)
        raise if timer.cancellation || event_loop.ending

        event_loop.report(e)
      end
      task.finish_call { |exception| event_loop.report(exception) }
    end

    # A class of its own tells this limit from those around it, and from what the block raises.
    def timeout_of_thread(seconds, &block)
      passed = Class.new(Exception) # rubocop:disable Lint/InheritException
      begin
        Timeout.timeout([seconds, 1e-9].max, passed, &block) # 0 is no limit to it
      rescue passed => e
        raise DeadlineExceeded, late(seconds), e.backtrace, cause: e.cause
      end
    end

    def late(seconds) = "The block took longer than #{seconds} s."
  end

  extend Concurrency
end
