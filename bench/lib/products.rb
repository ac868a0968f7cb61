# frozen_string_literal: true

require_relative "../../test/support/servers"

module Bench
  # Owns the PostgreSQL of `bench/rails` and `bench/rubies`, on the generator's core: a table with one record.
  module Products
    # Three servers with a connection for each of 200 requests.
    CONNECTIONS_MAX = 700
    TABLE = <<~SQL
      CREATE TABLE products (id bigserial PRIMARY KEY, name text, price integer);
      INSERT INTO products (name, price) VALUES ('Sling', 10);
    SQL

    # @yieldparam url [String] of the database
    def self.serve
      ::Servers::PostgreSQL.start(settings: { "max_connections" => CONNECTIONS_MAX }) do |server|
        Bench.run("psql", "--quiet", server.url, "--command", TABLE)
        Bench.pin(server.pid, GENERATOR_CORE)
        yield server.url
      end
    end
  end
end
