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
    SIGNALS = [*HeldSignals::STOPS, *HeldSignals::OTHERS].freeze

    FAILED = "The request failed. The log has the reason under the request ID."
    EXITS = "The worker exits."

    PLACES_MAX = 3 # fibers whose lines a message names
    PAUSE_SECONDS = 0.005 # between checks while the worker leaves a cluster
    private_constant :SIGNALS, :FAILED, :EXITS, :PLACES_MAX, :PAUSE_SECONDS

    # @param app [#call]
    # @return [Boolean] whether it is an {API}. The names of its methods are no sign: an app may have its own `handle`, and a delegator has them all.
    def self.native?(app) = Class === app && !Elah.autoload?(:API) && app < API

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
      @loop.at_end { Sink.close_all unless Elah.autoload?(:Sink) } # no fiber pushes any more
      @loop.in_forks do
        leave_signals
        sockets.leave_in_fork
      end
      Fiber.set_scheduler(Scheduler.new(@loop))
      @config.run_hooks(:before_worker_boot)
      @loop.end_fork
      Adapters.return_connections if @config.adapters?
      IdleMemory.start(@loop)
      Descriptors.watch(@loop, @log)
      Store::Watch.start(@loop, @log, @config)
      watch = StallWatch.start(@loop, @config.stall_ms / 1000.0, @log)
      open_peers unless Elah.autoload?(:Entity)
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
      @loop.post { Restart.current.release_signals } unless supervisor_link.supervised?
      @loop.run(@app, method(:failed)) { finish }
      @log.info("Drained; the worker exits")
    rescue Exception => e # -- it is raised again, and nothing that fails at the end takes its place
      @loop&.end_fork(e) # a hook has forked, and this is the child
      reason = e
      raise
    ensure
      @interrupter&.kill&.join
      watch&.stop
      @signal_listener&.kill
      shut_down(reason)
    end

    # Stops accepting, and exits when all accepted requests are finished, or after `drain_seconds`. May be called from a trap or another thread.
    #
    # @param leaves_backlog [Boolean] whether other processes accept the connections that wait in the same sockets
    def drain(leaves_backlog: false)
      return if @draining

      @draining = true
      ShutdownWatchdog.note_drain
      @supervisor_link.draining(leaves_backlog)
      @loop.post { @loop.after(@config.drain_seconds) { give_up("The drain took longer than #{@config.drain_seconds} s") } }
      @loop.request_drain(leaves_backlog: leaves_backlog)
      # So that no client waits for a server that has exited.
      @sockets.close if @supervisor_link.supervised? || !leaves_backlog
    end

    # Cancels the requests that still run, and exits. May be called from a trap.
    def abandon = @loop.post { give_up("INT came again") }

    # Hands over its shards, after its own requests and fibers, and replies to the calls that others have sent meanwhile.
    def leave_clusters
      clusters = Store.clusters.select(&:joined?)
      return if clusters.empty?

      clusters.flat_map(&:leave).each(&:report_loss)
      sleep @config.lease_seconds / 4 # until the others have read who owns the shards now
      sleep PAUSE_SECONDS until Entity::Peers.all.all?(&:quiet?)
    end

    private

    def limits = @config.limits.merge(connections_max: Descriptors.connections_max(@config))

    def open_peers
      stores = [*Entity::Collection.stores, *(Broadcast.stores unless Elah.autoload?(:Broadcast))]
      placements = [Placement.current, *stores.map(&:placement)].uniq
      Entity::Peers.open_all(@loop, placements) { |error| @supervisor_link.try_again?(error) }
    end

    # In a fiber, after the last response. The time for the drain ends it too.
    def finish
      @finishes = true
      left = @loop.end_fibers(EXITS)
      @log.warn("The worker exits without #{described(left)}, which rescued Elah::Cancelled twice and went on") if left.any?
      @supervisor_link.finish(self)
    end

    # @return [String] the number of fibers, and where some of them wait
    def described(tasks)
      lines = tasks.first(PLACES_MAX).map { |task| task.suspended.backtrace.to_a.map { |line| Text.utf8(line) } }
      places = lines.filter_map { |backtrace| backtrace.find { |line| GemOrigin.app?(line[/\A(.+?):\d/, 1].to_s) } }
      "#{tasks.size} background fibers#{" (#{places.uniq.join(', ')})" if places.any?}"
    end

    # Sinks, and what else Elah has of its own, are there until the fibers of the app and the hooks have ended.
    def shut_down(reason)
      @ends = true
      @loop&.abandon_fibers(EXITS)
      run_shutdown_hooks(reason)
    ensure
      Entity::Peers.close_all(@loop) unless Elah.autoload?(:Entity)
      @loop&.shut_down(EXITS)
      ShutdownWatchdog.stop
    end

    def run_shutdown_hooks(reason)
      @config.run_hooks(:before_worker_shutdown)
    rescue StandardError => e
      raise unless reason

      @log.exception(e, "A before_worker_shutdown block failed")
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

    # The second INT does not wait for requests. A pending restart is abandoned, unless the loop ends already: then the next image stops.
    def stop(signal)
      return HeldSignals.stop ||= signal if @finishes && Restart.current.due?

      abandon if @stopping && signal == "INT"
      @stopping = true
      abandon_restart if Restart.current.due?
      drain
    end

    def give_up(reason)
      fibers = @loop.unended.reject { |task| task.root.request }
      open = "#{@loop.counts[:open_requests]} open requests#{" and #{described(fibers)}" if fibers.any?}"
      @log.warn("#{reason}: abandoning #{open}, exit status #{DRAIN_EXCEEDED}")
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
      @log.exception(exception, "#{place(request)} #{failure(exception)}, after its response had begun or its client had left")
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
      return if (exception.is_a?(Cancelled) && @loop.ending) || ClientGone.caused?(exception)

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
      return stopped(request) if exception.is_a?(Cancelled) && (@ends || @loop.ending)
      return if request.awaits_response?

      case exception
      when DeadlineExceeded
        @log.warn("#{place(request)} was cancelled after #{@config.request_seconds} s")
        report(exception, request, :warning)
        true
      when ClientGone then @log.debug("#{place(request)} was cancelled: its client disconnected") || true
      end
    end

    # A handler that has taken its connection over, such as that of a WebSocket, has responded.
    def stopped(request)
      awaits = request.awaits_response?
      @log.public_send(awaits ? :warn : :info, "#{place(request)} was cancelled: the worker exits")
      request.respond_with_problem(503, "server_stopped", "The server stopped before the request was complete.") if awaits
      true
    end

    def place(request) = "Request #{request.id} #{request.request_method} #{request.path}"
  end
end
