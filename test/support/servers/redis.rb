# frozen_string_literal: true

module Servers
  # Owns redis-server.
  #
  # @option options [String] :password that clients have to give
  class Redis < Server
    STOP_SIGNAL = :TERM
    READY = /Ready to accept connections/.freeze

    # The program of the package redis-tools; called by its other name it is the server, and the package redis-server,
    # which would start one at every boot, is not needed.
    PROGRAM = %w[/usr/bin/redis-check-rdb redis-server].freeze

    def initialize(password: nil, **options)
      @password = password
      super(**options)
    end

    # @return [String] redis://127.0.0.1:PORT/0, rediss:// with TLS
    def url = "#{tls? ? 'rediss' : 'redis'}://#{":#{@password}@" if @password}#{address}/0"

    private

    def prepare = FileUtils.mkdir(data_path)

    def command
      [PROGRAM, *arguments.merge(@settings).flat_map { |name, value| ["--#{name}", *Array(value).map(&:to_s)] }]
    end

    def arguments
      listen = tls? ? tls_arguments : { "port" => port }
      listen = listen.merge("requirepass" => @password) if @password
      # The shutdown writes what is kept, unless nothing is: with `appendonly` the data outlives a stop.
      { "bind" => "127.0.0.1", "dir" => data_path, "save" => "", "appendonly" => "yes",
        "appendfsync" => @durable ? "always" : "no" }.merge(listen)
    end

    def tls_arguments
      { "port" => 0, "tls-port" => port, "tls-cert-file" => @certificate.path, "tls-key-file" => @certificate.key_path,
        "tls-ca-cert-file" => ca_file, "tls-auth-clients" => "no" }
    end
  end
end
