# frozen_string_literal: true

require_relative "store_cases"
require_relative "../stores/redis"
require "support/servers"

# The store in a Redis Cluster, whose keys are on three nodes, behind the app's store interface.
class RedisClusterStoreTest < Minitest::Test
  include StoreCases

  def self.cluster = @cluster ||= Servers::RedisCluster.start

  def setup
    nodes = self.class.cluster.nodes.map { |node| Elah::Redis.new(node.url) }
    nodes.each { |node| node.call("FLUSHALL") && node.close }
    @redis = Elah::Redis.new(self.class.cluster.url, cluster: true)
    super
  end

  def teardown
    @redis.close
  end

  def test_the_links_are_on_all_nodes
    Array.new(60) { |index| create("code#{index}") }
    sizes = self.class.cluster.nodes.map do |node|
      Elah::Redis.new(node.url).then { |redis| redis.keys("links:link:*").size }
    end
    assert_equal 60, sizes.sum
    assert(sizes.all?(&:positive?), sizes.inspect)
  end

  private

  def open_store = Links::Stores::Redis.new(@redis)
end
