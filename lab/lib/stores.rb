# frozen_string_literal: true

require_relative "../../test/support/servers"

module Lab
  # The database servers that workloads name: real ones, each on a free port, on the generator's core, with its data in a temporary folder.
  module Stores
    KINDS = { "redis" => :Redis, "postgresql" => :PostgreSQL, "mariadb" => :MariaDB, "mongodb" => :MongoJavaServer }.freeze

    # @param kind [String, nil]
    # @yieldparam url [String, nil] of a server that runs as long as the block
    def self.with(kind, cores)
      return yield(nil) unless kind

      name = KINDS.fetch(kind) { raise Error, "workloads.yml: there is no store #{kind}; there are #{KINDS.keys.join(', ')}." }
      Servers.const_get(name).start do |server|
        pin = ["taskset", "--all-tasks", "--cpu-list", "--pid", Cores::GENERATOR.to_s, server.pid.to_s]
        system(*pin, out: File::NULL) if cores.apart?
        yield server.url
      end
    rescue Servers::Failure => e
      raise Error, "#{kind} does not start: #{e.message}"
    end
  end
end
