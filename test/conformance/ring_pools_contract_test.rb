# frozen_string_literal: true

require_relative "app_contract"

# Plays specs/ring_pools.yml against the app of this repository, every case a test, with each durability, and on a
# cluster against two servers in turn.
class RingPoolsContractTest < Minitest::Test
  extend Conformance::AppContract

  # What the app is started with.
  STORES = {
    "disk" => -> { { arguments: %w[--set ring_pools_durability=disk] } },
    "memory" => -> { { arguments: %w[--set ring_pools_durability=memory] } },
    "cluster" => -> { { cluster: Servers::PostgreSQL.shared.url, arguments: %w[--set ring_pools_deadline_ms=20000] } }
  }.freeze

  plays "ring_pools", STORES
end
