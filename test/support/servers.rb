# frozen_string_literal: true

# Owns the load order of the tests' database servers.
require_relative "servers/server"
require_relative "servers/certificate"
require_relative "servers/redis"
require_relative "servers/redis_cluster"
require_relative "servers/postgresql"
require_relative "servers/standby"
require_relative "servers/patroni"
require_relative "servers/maria_db"
require_relative "servers/mongo_java_server"
require_relative "servers/nats"
