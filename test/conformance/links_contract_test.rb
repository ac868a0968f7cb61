# frozen_string_literal: true

require_relative "app_contract"

# Plays specs/links.yml against the app of this repository, every case a test with every store; on a cluster against two
# servers in turn.
class LinksContractTest < Minitest::Test
  extend Conformance::AppContract

  # What the servers are started with, by the name of the store.
  STORES = {
    "embedded" => -> { {} },
    "cluster" => -> { { cluster: Servers::PostgreSQL.shared.url } },
    "redis" => -> { { store: Servers::Redis.shared.url } },
    "postgresql" => -> { { store: Servers::PostgreSQL.shared.url } },
    "mariadb" => -> { { store: Servers::MariaDB.shared.url } },
    "mongodb" => -> { { store: Servers::MongoJavaServer.shared.url } }
  }.freeze

  plays "links", STORES
end
