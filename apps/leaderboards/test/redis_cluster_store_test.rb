# frozen_string_literal: true

require_relative "redis_store_cases"

# The store in a Redis Cluster, whose boards are on three nodes.
class LeaderboardsRedisClusterStoreTest < Minitest::Test
  include RedisStoreCases

  def self.cluster = @cluster ||= Servers::RedisCluster.start.tap { |cluster| Minitest.after_run { cluster.remove } }

  def open_redis = Elah::Redis.new(self.class.cluster.url, cluster: true)

  def test_boards_are_on_all_nodes_and_each_on_one
    boards = Array.new(30) { board_of.tap { |board| @store.submit(board, "ann", 1, nil, :ordinal) } }
    keys = self.class.cluster.nodes.map do |node|
      redis = Elah::Redis.new(node.url)
      redis.keys("leaderboards:{#{@name}:*").tap { redis.close }
    end
    stems = keys.map { |some| some.map { |key| key[/\{.*\}/] }.uniq }
    assert_equal boards.size, stems.sum(&:size)
    assert(stems.all?(&:any?), stems.inspect)
  end
end
