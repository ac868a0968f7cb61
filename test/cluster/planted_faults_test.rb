# frozen_string_literal: true

require "test_helper"
require "support/board_clients"
require "support/machines_cluster"
require "support/pool_clients"

# The checks find a fault of a real cluster: a machine stands still until the others have taken over, then somebody
# takes its fence away and gives its shards back, so that it goes on with what it had in memory. A machine that had a
# statement on its way looks up what became of it, drops its memory, and does no harm: then the fault is planted again.
class ClusterPlantedFaultsTest < Minitest::Test
  ATTEMPTS = 5
  SHARDS = "SELECT epoch, shard FROM elah_shards WHERE writer = ?"
  GIVE_BACK = "UPDATE elah_shards SET writer = ?, epoch = ? WHERE shard = ?"

  def setup
    obstacle = MachinesCluster.obstacle and skip obstacle
  end

  { accounts: BankClients, pools: PoolClients, boards: BoardClients }.each do |name, kind|
    define_method(:"test_the_check_of_#{name}_finds_an_owner_without_a_fence") do
      found = nil
      ATTEMPTS.times { found ||= violation(kind) }
      assert_match(/no order of its \d+ calls explains|lent twice at a time/, found.to_s)
    end
  end

  private

  def violation(kind)
    MachinesCluster.start(2, app: kind::APP, settings: kind::SETTINGS, entity_moving_seconds: 5) do |cluster|
      clients = kind.run(cluster) do |running|
        running.wait_until_served(30)
        replace_without_fence(cluster) { running.wait_until_served(30, places: [1]) }
        running.wait_until_served(10)
      end
      clients.read_all
      clients.violation
    end
  end

  def replace_without_fence(cluster)
    writer = cluster.members.find { |_, member| member["node"] == "node1" }.first.to_i
    shards = cluster.sql.query(SHARDS, writer).map(&:to_h)
    cluster.servers[0].signal(:STOP)
    cluster.wait_until_left(1)
    yield
    cluster.sql.transaction do |transaction|
      transaction.execute("UPDATE elah_writers SET fenced = false WHERE writer = ?", writer)
      shards.each { |row| transaction.execute(GIVE_BACK, writer, *row.values) }
    end
    cluster.servers[0].signal(:CONT)
  end
end
