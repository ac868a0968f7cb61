# frozen_string_literal: true

require "json"

module Servers
  # Owns nats-server with JetStream, whose streams are on disk. `bin/setup --tests` fetches it.
  class NATS < Server
    STOP_SIGNAL = :TERM
    READY = /Server is ready/.freeze
    PROGRAM = File.join(CACHE, "nats/usr/sbin/nats-server")
    USER = "elah"
    PASSWORD = "secret"

    # @return [String] nats://elah:secret@127.0.0.1:PORT
    def url = "#{tls? ? 'tls' : 'nats'}://#{USER}:#{PASSWORD}@#{address}"

    private

    def prepare
      File.exist?(PROGRAM) or raise Failure, "nats-server is missing: bin/setup --tests fetches it."
      FileUtils.mkdir(data_path)
      settings = { "max_payload" => 65_536, "jetstream" => { "store_dir" => data_path }, **tls_settings, **@settings }
      File.write(config_path, JSON.generate(settings))
    end

    def tls_settings
      return {} unless tls?

      { "tls" => { "cert_file" => @certificate.path, "key_file" => @certificate.key_path } }
    end

    def command
      [PROGRAM, "--addr", "127.0.0.1", "--port", port.to_s, "--user", USER, "--pass", PASSWORD,
       "--config", config_path]
    end

    def config_path = File.join(@folder, "nats.conf")
  end
end
