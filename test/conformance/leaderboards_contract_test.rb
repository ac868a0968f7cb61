# frozen_string_literal: true

require_relative "app_contract"

# Plays specs/leaderboards.yml against the app of this repository, every case a test: in the embedded store with each
# durability, on a cluster against two servers in turn, in Redis and in a Redis Cluster.
class LeaderboardsContractTest < Minitest::Test
  extend Conformance::AppContract

  # On a loaded machine no part of a board is to be late.
  IN_TIME = ["--set", "leaderboards_deadline_ms=20000"].freeze

  # What the app is started with, by the name of the store.
  STORES = {
    "disk" => -> { { arguments: ["--set", "leaderboards_durability=disk", *IN_TIME] } },
    "memory" => -> { { arguments: ["--set", "leaderboards_durability=memory", *IN_TIME] } },
    "cluster" => -> { { cluster: Servers::PostgreSQL.shared.url, arguments: IN_TIME } },
    "redis" => -> { { store: Servers::Redis.shared.url } },
    "redis_cluster" => -> { { store: cluster.url.sub("redis:", "redis+cluster:") } }
  }.freeze

  # A board in Redis is in one part.
  EMBEDDED_ALONE = ["a leaderboard in parts has exact ranks over all of them"].freeze

  def self.cluster = @cluster ||= Servers::RedisCluster.start.tap { |cluster| Minitest.after_run { cluster.remove } }

  plays "leaderboards", STORES, except: ->(store, name) { store.start_with?("redis") && EMBEDDED_ALONE.include?(name) }
end
