# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"
require_relative "../support/servers"
require_relative "contract"

# Plays specs/leaderboards.yml against the app of this repository, every case a test: in the embedded store with each
# durability, on a cluster against two servers in turn, in Redis and in a Redis Cluster.
class LeaderboardsContractTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  CONTRACT = Conformance::Contract.new(File.join(ROOT, "specs/leaderboards.yml"))

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

  # @return [Array<String>] URLs of the servers: two on a cluster
  def self.urls(store)
    (@urls ||= {})[store] ||= Array.new(store == "cluster" ? 2 : 1) do
      server = ElahServer.start(File.join(ROOT, "apps/leaderboards/app.rb"), **STORES.fetch(store).call)
      Minitest.after_run { server.stop }
      server.http_url
    end
  end

  STORES.each_key do |store|
    CONTRACT.cases.each do |one|
      next if store.start_with?("redis") && EMBEDDED_ALONE.include?(one.name)

      define_method("test_#{store}_#{one.name.tr(' ', '_')}") do
        url, *others = self.class.urls(store)
        failure = Conformance::Player.new(url, others: others).play(one.steps)
        assert_nil failure, failure
      end
    end
  end
end
