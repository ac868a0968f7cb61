# frozen_string_literal: true

require_relative "../../test/support/servers"

module Lab
  # The database servers that workloads name: real ones, each on a free port, on the generator's core, with its data in a temporary folder.
  module Stores
    KINDS = { "redis" => :Redis, "postgresql" => :PostgreSQL, "mariadb" => :MariaDB, "mongodb" => :MongoJavaServer }.freeze
    # mongo-java-server keeps everything in memory.
    OPTIONS = { "mongodb" => { memory_megabytes: 4096 } }.freeze
    SETTINGS = { "mariadb" => ::Servers::MariaDB::UNDER_LOAD }.freeze

    # @param kind [String, nil]
    # @yieldparam url [String, nil] of an empty server that runs as long as the block
    def self.with(kind, cores)
      return yield(nil) unless kind

      server = start(kind)
      pin(server, cores)
      yield server.url
    ensure
      server&.remove
    end

    # @param kind [String]
    # @param settings [Hash{String=>String}] of the server, by its own names, besides SETTINGS
    # @return [Servers::Server]
    # @raise [Lab::Error] when there is no such kind, or it does not start
    def self.start(kind, settings: {})
      name = KINDS.fetch(kind) { raise Error, "workloads.yml: there is no store #{kind}; there are #{KINDS.keys.join(', ')}." }
      Servers.const_get(name).start(settings: SETTINGS.fetch(kind, {}).merge(settings), **OPTIONS.fetch(kind, {}))
    rescue Servers::Failure => e
      raise Error, "#{kind} does not start: #{e.message}"
    end

    # Binds it to the generator's core.
    def self.pin(server, cores)
      system("taskset", "--all-tasks", "--cpu-list", "--pid", Cores::GENERATOR.to_s, server.pid.to_s, out: File::NULL) if cores.apart?
    end
  end
end
