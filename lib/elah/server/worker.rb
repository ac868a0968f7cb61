# frozen_string_literal: true

require_relative "../concurrency/event_loop"
require_relative "idle_memory"
require_relative "../concurrency/scheduler"
require_relative "signal_listener"
require_relative "stall_watch"
require_relative "worker/restarting"

module Elah
  # One worker: the app, the loop that runs it, and the signals that end it.
  class Worker
    include Restarting

    # Exit status of a worker that abandoned requests after `drain_seconds`, or at the second INT.
    DRAIN_EXCEEDED = 75

    # How long a server may take to exit after that; then the watchdog kills it.
    GRACE_SECONDS = 1.0

    # The signals that a worker traps, alone or under a supervisor.
    SIGNALS = [*HeldStop::SIGNALS, *Restart::SIGNALS].freeze

    FAILED = "The request failed. The log has the reason under the request ID."

    # Interval of checks while the worker leaves a cluster.
    PAUSE_SECONDS = 0.005
    private_constant :SIGNALS, :FAILED, :PAUSE_SECONDS

    # @param app [#call]
    # @return [Boolean] whether it is an {API}. The names of its methods are no sign: an app may have its own `handle`, and a delegator has them all.
    def self.native?(app) = app.is_a?(Class) && !Elah.autoload?(:API) && app < API

    # @param app [#call] an Elah::API, or any Rack app
    # @param config [Elah::Config]
    # @param log [Elah::Log]
    def initialize(app, config, log)
      @config = config
      @log = Log.current = log
      @app = Worker.native?(app) ? app.compiled : Rack::Adapter.new(app)
      @app = RequestLog.new(@app, log) if config.log_requests?
    end

    # Serves on the sockets until INT or TERM, then finishes the accepted requests.
    #
    # @param sockets [Elah::Sockets]
    # @param supervisor_link [Elah::SingleProcess, Elah::Supervisor::SupervisorLink] publishes its state
    # @raise [SystemExit] with {DRAIN_EXCEEDED} when requests exceed `drain_seconds`, or at a second INT
    def run(sockets, supervisor_link)
      @sockets = sockets
      @supervisor_link = supervisor_link
      @loop = EventLoop.start(limits: limits, spawned_max: @config.spawned_max,
                              router: @app.router, streamed_routes: @app.streamed_routes, gates: @app.gates)
      @loop.cancels_gone = cancels_gone
      @loop.in_forks do
        leave_signals
        sockets.leave_in_fork
      end
      Fiber.set_scheduler(Scheduler.new(@loop))
      @config.run_hooks(:before_worker_boot)
      Adapters.return_connections if @config.adapters?
      IdleMemory.start(@loop)
      Store::Watch.start(@loop, @log)
      watch = StallWatch.start(@loop, @config.stall_ms / 1000.0, @log)
      Entity::Peers.open(@loop, Placement.current) unless Elah.autoload?(:Entity)
      supervisor_link.attach(@loop, self)
      unless Elah.autoload?(:Entity)
        Entity::Gauges.show(@loop)
        Entity::Collection.start(@loop)
      end
      Broadcast.start(@loop) unless Elah.autoload?(:Broadcast)
      trap_signals
      sockets.all.each { |socket| @loop.listen(socket) }
      supervisor_link.ready(sockets.addresses)
      # After the first look at the sockets, so that connections that wait there are accepted.
      @loop.post { Restart.current.release_stop } unless supervisor_link.supervised?
      @loop.run(@app, method(:failed))
      @log.info("Drained; the worker exits")
    rescue Exception => e # -- it is raised again, and nothing that fails at the end takes its place
      reason = e
      raise
    ensure
      @interrupter&.kill&.join
      watch&.stop
      @signal_listener&.kill
      shut_down(reason)
    end

    # Stops accepting, and exits when all accepted requests are finished, or after `drain_seconds`. May be called from a trap.
    #
    # @param leaves_backlog [Boolean] whether other processes accept the connections that wait in the same sockets
    def drain(leaves_backlog: false)
      return if @draining

      @draining = true
      ShutdownWatchdog.note_drain
      @supervisor_link.draining(leaves_backlog)
      deadline = @loop.new_wait
      @loop.after_wait(deadline) { give_up("The drain took longer than #{@config.drain_seconds} s") }
      @loop.start_timer(deadline, @config.drain_seconds)
      leave_in_order unless @supervisor_link.supervised?
      @loop.request_drain(leaves_backlog: leaves_backlog)
      # So that no client waits for a server that has exited.
      @sockets.close if @supervisor_link.supervised? || !leaves_backlog
    end

    # Cancels the requests that still run, and exits. May be called from a trap.
    def abandon = @loop.post { give_up("INT came again") }

    # Hands over its shards, after its own requests, and replies to the calls that others have sent meanwhile.
    def leave_clusters
      clusters = Store.clusters.select(&:joined?)
      return if clusters.empty?

      clusters.each(&:leave)
      sleep @config.lease_seconds / 4 # until the others have read who owns the shards now
      sleep PAUSE_SECONDS until Entity::Peers.all.all?(&:quiet?)
    end

    private

    def limits = @config.limits.merge(connections_max: Descriptors.connections_max(@config))

    # A supervisor has its own order.
    def leave_in_order
      return if Store.clusters.none?(&:joined?)

      @loop.linger(true)
      @loop.post do
        @loop.spawn(Task.transient) do
          sleep PAUSE_SECONDS until @loop.served_all?
          leave_clusters
        ensure
          @loop.linger(false)
        end
      rescue Overloaded
        @loop.linger(false)
      end
    end

    def shut_down(reason)
      @config.run_hooks(:before_worker_shutdown)
    rescue StandardError => e
      raise unless reason

      @log.exception(e, "A before_worker_shutdown block failed")
    ensure
      Entity::Peers.close_all(@loop) unless Elah.autoload?(:Entity)
      @ends = true
      @loop&.shut_down("The worker exits.")
      ShutdownWatchdog.stop
    end

    def cancels_gone = @config.cancel_gone == "auto" ? @app.cancels_gone : @config.cancel_gone.to_sym

    def trap_signals
      @signal_listener = SignalListener.start
      @supervisor_link.supervised? ? trap("TERM") { drain(leaves_backlog: true) } : trap_signals_of_server
      EventLoop::Fatal.trapped(SIGNALS)
      # After the traps, because it runs before them.
      start_watchdog(GRACE_SECONDS)
    end

    def start_watchdog(grace_seconds)
      ShutdownWatchdog.start(@config.drain_seconds, grace_seconds, DRAIN_EXCEEDED, @supervisor_link.supervised?)
    end

    def trap_signals_of_server
      %w[INT TERM].each { |signal| trap(signal) { stop(signal) } }
      %w[HUP USR1 USR2].each { |signal| trap(signal) { @loop.post { restart } } }
      %w[TTIN TTOU].each { |signal| trap(signal) { nil } } # the system would stop the process
    end

    # In a fork of a handler, the server's signal handlers do not apply.
    def leave_signals
      SIGNALS.each { |signal| trap(signal, "DEFAULT") }
      EventLoop::Fatal.trapped([])
    end

    # The second INT does not wait for requests. A pending restart is abandoned.
    def stop(signal)
      abandon if @stopping && signal == "INT"
      @stopping = true
      Restart.current.abandon
      drain
    end

    def give_up(reason)
      @log.warn("#{reason}: abandoning #{@loop.counts[:open_requests]} open requests, exit status #{DRAIN_EXCEEDED}")
      @loop.end_with(SystemExit.new(DRAIN_EXCEEDED))
    end

    # A handler ended with an exception. Its client does not wait for the report.
    def failed(exception, request)
      return spawned_failed(exception) unless request
      return if ended_by_server(exception, request)

      severity = request.awaits_response? ? respond_to_failure(exception, request) : log_broken_response(exception, request)
      report(exception, request, severity)
    rescue EventLoop::Fatal
      raise
    rescue Exception => e # -- the exception's own methods may raise
      report_failed(e, exception, request)
    end

    # Even this may fail, at the end of a stack or because a method of the exception raises; the loop continues.
    def report_failed(error, exception, request)
      @log.error("#{request ? place(request) : 'A spawned fiber'} failed: #{Text.of_exception(exception)}. " \
                 "The report failed too: #{Text.of_exception(error)}")
    rescue EventLoop::Fatal
      raise
    rescue Exception # -- as above
      nil
    ensure
      request.respond_with_problem(500, "internal_error", FAILED) if request&.awaits_response?
    end

    # @return [Symbol] the severity for the report
    def log_broken_response(exception, request)
      @log.exception(exception, "#{place(request)} #{failure(exception)}, after its response had begun")
      :error
    end

    # An error with a status for the client is logged without a backtrace, because a server that is down or a full store fails many requests.
    #
    # @return [Symbol, nil] the severity for the report; nil for a fault of the client
    def respond_to_failure(exception, request)
      problem = exception.is_a?(Problem) ? exception : Adapters::ErrorMapping.of(exception)
      if problem
        @log.failure(exception, "#{place(request)} failed")
        request.respond_with_problem(problem.status, problem.code, Text.utf8(problem.detail))
        :warning if problem.status >= 500
      else
        @log.exception(exception, "#{place(request)} #{failure(exception)}")
        request.respond_with_problem(500, "internal_error", FAILED)
        :error
      end
    end

    def spawned_failed(exception)
      return if exception.is_a?(Cancelled) && @loop.ending

      @log.exception(exception, "A spawned fiber #{failure(exception)}")
      ErrorReports.report(exception)
    end

    def report(exception, request, severity)
      return unless severity

      ErrorReports.report(exception, severity: severity, request_id: request.id, method: request.request_method, path: request.path,
                                     route: (@app.route_of(request) if @app.respond_to?(:route_of)))
    end

    # A handler that calls exit does not stop the server.
    def failure(exception)
      exception.is_a?(SystemExit) ? "called exit with status #{exception.status}; only this request fails, the server continues" : "failed"
    end

    # The exceptions by which the server cancelled the handler: the client has its response, or has disconnected.
    def ended_by_server(exception, request)
      return stopped(request) if @ends && exception.is_a?(Cancelled)
      return if request.awaits_response?

      case exception
      when DeadlineExceeded
        @log.warn("#{place(request)} was cancelled after #{@config.request_seconds} s")
        report(exception, request, :warning)
        true
      when ClientGone then @log.debug("#{place(request)} was cancelled: its client disconnected") || true
      end
    end

    def stopped(request)
      @log.warn("#{place(request)} was cancelled: the worker exits")
      request.respond_with_problem(503, "server_stopped", "The server stopped before the request was complete.")
      true
    end

    def place(request) = "Request #{request.id} #{request.request_method} #{request.path}"
  end
end
