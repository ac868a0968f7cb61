# frozen_string_literal: true

require_relative "log"
require_relative "native"

module Elah
  # Serves one app: opens the sockets, then runs the one worker, or the supervisor of several, until it has drained.
  class Server
    # @param app [#handle, #call] an Elah::API, or any Rack app
    # @param config [Elah::Config]
    # @param log [Elah::Log]
    def initialize(app, config, log: Log.new(level: config.log_level))
      @app = app
      @config = config
      @log = log
    end

    # Blocks until INT, TERM or {#stop}.
    #
    # @raise [Elah::ListenError] when an address is taken or wrong
    # @raise [SystemExit] when requests were given up
    def run
      @pid = Process.pid
      allow_descriptors
      @config.settings.warnings.each { |warning| @log.warn(warning) }
      Adapters.install if @config.adapters?
      @restart = Restart.current
      @sockets = Sockets.new(@config.bind.map(&:to_s), inherited: @restart.state.fetch("sockets", []), given: Systemd.take_descriptors)
      require_relative "worker"
      worker = Worker.new(@app, @config, @log)
      supervised? ? Supervisor.new(worker, @config, @log, @sockets, @restart).run : run_alone(worker)
    ensure
      @pid = nil
      @sockets&.remove
    end

    # Stops the server as TERM does: it answers what it has accepted, and {#run} returns. Returns at once, and does nothing when the server does
    # not run. May be called from a handler, another thread or a trap.
    #
    # @return [nil]
    def stop
      Process.kill(:TERM, @pid) if @pid
      nil
    end

    # The app and the configuration are left out: they are long, and a configuration may hold secrets.
    #
    # @return [String]
    def inspect = "#<#{self.class} #{@pid ? "running, #{@config.workers} workers, on" : 'for'} #{@config.bind.map(&:to_s).join(', ')}>"

    # Does in a trial run what could end the next image of a server before it serves: the definition of an API may contradict itself, and an
    # address be taken. Nothing is left open.
    #
    # @raise [Elah::Error]
    def try
      @app.compile! if @app.respond_to?(:compile!)
      Sockets.try(@config.bind.map(&:to_s), **Restart.current.trial)
    end

    private

    # Workers that are there already need their supervisor, however many there are to be.
    def supervised? = @config.workers > 1 || @restart.state.key?("supervisor")

    # What comes while the process restarts waits in the sockets.
    def run_alone(worker)
      seat = OwnSeat.new(@config, @log)
      worker.run(@sockets, seat)
      @restart.go({ "sockets" => @sockets.state }, @sockets.descriptors) if @restart.due?
    ensure
      seat&.remove
    end

    # A connection is a file descriptor: the process may open as many as its hard limit allows.
    def allow_descriptors
      soft, hard = Process.getrlimit(:NOFILE)
      Process.setrlimit(:NOFILE, hard, hard) if soft < hard
      return if hard > @config.connections_max

      @log.warn("#{hard} file descriptors are allowed, fewer than connections_max (#{@config.connections_max}): connections may wait")
    end
  end
end
