# frozen_string_literal: true

require "test_helper"
require "elah/cli"
require "support/bank_clients"
require "support/board_clients"
require "support/machines_cluster"
require "support/pool_clients"

# A machine under load hands over all its shards, and ends: no call fails, neither through it nor through the others.
class ClusterDrainTest < Minitest::Test
  include Patience

  def setup
    obstacle = MachinesCluster.obstacle and skip obstacle
  end

  { accounts: BankClients, pools: PoolClients, boards: BoardClients }.each do |name, kind|
    define_method(:"test_a_machine_that_is_drained_and_ends_fails_no_call_of_#{name}") { drain(kind) }
  end

  private

  def drain(kind)
    MachinesCluster.start(3, app: kind::APP, settings: kind::SETTINGS) do |cluster|
      clients = kind.run(cluster, each: 4) do |running|
        running.wait_until_served(50)
        empty(cluster, "node1")
        running.wait_until_served(50)
        running.leave(0)
        cluster.servers[0].stop
        running.wait_until_served(50, places: [1, 2])
      end
      puts "#{name}: #{clients}" if $VERBOSE
      assert_equal 0, clients.failures, clients.to_s
      assert_empty clients.history.unknown, clients.to_s
    end
  end

  # Drains a machine by the command, and waits until it owns nothing.
  def empty(cluster, node)
    out = StringIO.new
    status = Elah::CLI.start(["cluster", "drain", node, "--cluster", cluster.database.url], out: out, err: out)
    assert_equal 0, status, out.string
    wait_until("#{node} owns nothing") { owned(cluster, node).zero? }
  end

  def owned(cluster, node) = cluster.members.values.sum { |member| member["node"] == node ? member["shards"] : 0 }
end
