# frozen_string_literal: true

require_relative "log"
require_relative "native"

module Elah
  # Serves one app: binds the addresses, then runs the worker until it has drained.
  class Server
    # Connections that the kernel keeps for a listener until they are accepted.
    BACKLOG = 4096

    # @param app [#handle, #call] an Elah::API, or any Rack app
    # @param config [Elah::Config]
    # @param log [Elah::Log]
    def initialize(app, config, log: Log.new(level: config.log_level))
      @app = app
      @config = config
      @log = log
    end

    # Blocks until INT or TERM.
    #
    # @raise [Elah::ListenError] when an address is taken or wrong
    def run
      allow_descriptors
      Adapters.install if @config.adapters?
      sockets = @config.bind.map { |listener| ListeningSocket.bind(listener.to_s, BACKLOG) }
      require_relative "worker"
      Worker.new(@app, @config, @log).run(sockets)
    ensure
      sockets&.each { |socket| remove(socket.socket_path) }
    end

    private

    # A connection is a file descriptor: the process may open as many as its hard limit allows.
    def allow_descriptors
      soft, hard = Process.getrlimit(:NOFILE)
      Process.setrlimit(:NOFILE, hard, hard) if soft < hard
      return if hard > @config.connections_max

      @log.warn("#{hard} file descriptors are allowed, fewer than connections_max (#{@config.connections_max}): connections may wait")
    end

    def remove(socket_path)
      File.unlink(socket_path) if socket_path && File.socket?(socket_path)
    end
  end
end
