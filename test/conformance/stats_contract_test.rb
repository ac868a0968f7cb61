# frozen_string_literal: true

require_relative "app_contract"

# Plays specs/stats.yml against the app of this repository, every case a test: on one machine, and on a cluster against
# two servers in turn. The event that a schema parks, and the change that releases it, go to the same one then.
class StatsContractTest < Minitest::Test
  extend Conformance::AppContract

  # What the servers are started with.
  STORES = { "embedded" => -> { {} }, "cluster" => -> { { cluster: Servers::PostgreSQL.shared.url } } }.freeze

  plays "stats", STORES
end
