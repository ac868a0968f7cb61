# frozen_string_literal: true

require "test_helper"
require "support/bank_clients"
require "support/bank_cluster"

# A cluster on three members of Patroni, whose leader is killed under load: with a strict synchronous standby nothing
# that was confirmed is lost, and no server is restarted.
class ClusterPatroniTest < Minitest::Test
  include Patience

  def patience_seconds = 180

  def setup
    obstacle = Servers::Patroni.obstacle || History.obstacle and skip obstacle
  end

  def test_a_leader_is_killed_and_nothing_is_lost
    Servers::Patroni.start do |patroni|
      BankCluster.start(servers: 3, database: patroni) do |cluster|
        cluster.wait_until_spread(cluster.servers[0], 3)
        clients = BankClients.run(cluster) do |running|
          running.wait_until_served(20)
          fail_over(cluster, patroni)
          running.wait_until_served(20)
        end
        clients.read_all
        puts clients if $VERBOSE
        assert_nil clients.violation
        assert_empty clients.history.confirmed.map { |call| [call.key, call.input[:amount]] } - stored(cluster)
        cluster.servers.each do |server|
          refute_predicate server, :ended?
          refute_match(/has lost confirmed writes/, server.log)
        end
      end
    end
  end

  private

  # Returns when another member leads.
  def fail_over(cluster, patroni)
    dead = patroni.kill_leader
    wait_until("another member leads") { ![nil, dead].include?(patroni.roles["leader"]) }
    cluster.servers.each { |server| wait_until("it is ready") { server.get("/ready").status == 200 } }
  end

  # @return [Array<Array(String, Integer)>] account and amount of each deposit in the database
  def stored(cluster)
    BankClients::KEYS.flat_map do |key|
      cluster.servers[0].get("/history/#{key}").json["amounts"].map { |amount| [key, amount] }
    end
  end
end
