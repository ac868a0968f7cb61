# frozen_string_literal: true

require "test_helper"
require "support/bank_clients"
require "support/bank_cluster"
require "support/cluster_case"

# Servers of two versions of Elah side by side, while one takes the place of the other.
class ClusterUpgradeTest < Minitest::Test
  include Patience

  def test_servers_are_replaced_by_those_of_the_next_version_under_load
    BankCluster.start(lease_seconds: 5) do |cluster|
      one, two = cluster.servers
      cluster.wait_until_spread(one, 2)
      clients = BankClients.run(cluster) do |running|
        three = replace(cluster, one, running, 0)
        assert_equal [1, 2], versions(cluster, three)
        assert_equal [1, 1], [two, three].map { |server| cluster.spoken(server) }
        four = replace(cluster, two, running, 1)
        wait_until("all work by the next version") { [three, four].all? { |server| cluster.spoken(server) == 2 } }
        running.wait_until_served(30)
      end
      check(cluster, clients)
      assert_an_earlier_version_is_refused(cluster)
    end
  end

  def test_a_version_that_is_two_ahead_takes_no_shards
    BankCluster.start(servers: 1) do |cluster|
      one = cluster.servers[0]
      cluster.wait_until_spread(one, 1)
      later = cluster.add_version(3)
      later.wait_for(/This process takes no shards: the writer \d+ speaks version 1 of the protocol, and this one 3/)
      assert_equal 201, cluster.deposit(later, "account", 5)
      assert_equal 201, cluster.deposit(one, "account", 5)
      assert_equal({ "account" => 10 }, cluster.balances(later))
      assert_equal [0, BankCluster::OPTIONS[:shards]], cluster.shards(one).sort
      assert_equal 1, later.log.scan(/takes no shards/).size
    end
  end

  private

  # Another server of the next version has its part of the shards, and takes the place of one that is called.
  def replace(cluster, server, clients, place)
    clients.wait_until_served(20)
    newer = cluster.add_version(2)
    cluster.wait_until_spread(newer, 3)
    clients.wait_until_served(20, places: [0, 1])
    cluster.servers.delete(newer)
    cluster.servers[place] = newer
    server.stop
    clients.wait_until_served(20, places: [0, 1])
    newer
  end

  # A client that was on its way to the server that stopped has no response. No other call has failed.
  def check(cluster, clients)
    clients.read_all
    statuses = [0, 1].map { |place| clients.statuses(place) }
    assert_empty statuses.flat_map(&:keys) - [200, 201, :refused, :unknown], clients.to_s
    obstacle = History.obstacle
    assert_nil clients.history.violation unless obstacle
    assert_equal 2, cluster.members(cluster.servers[0]).size
  end

  def versions(cluster, server) = cluster.members(server).values.map { |member| member["version"] }.sort

  def assert_an_earlier_version_is_refused(cluster)
    error = assert_raises(ElahServer::Failure) { cluster.add_version(1) }
    assert_match(/works by version 2 of its protocol, and this version of Elah speaks up to 1: install/, error.message)
  end
end

# A process that opened the cluster before all others went over to the next version, and takes part later.
class ClusterLateVersionTest < ClusterCase
  def teardown
    @sql.execute("UPDATE elah_cluster SET version = 1")
    super
  end

  JOINS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' " \
          "AND query LIKE '%INSERT INTO elah_writers%'"

  def test_it_does_not_take_part
    before = writers
    @sql.execute("UPDATE elah_cluster SET version = 2")
    @store.join(nil, nil)
    assert_refused(before)
    @sql.execute("UPDATE elah_cluster SET version = 1")
    wait_until("it takes part") { writers == before + 1 }
  end

  # Of one that joins and one that raises the version at the same time, the later one sees the other.
  def test_it_does_not_take_part_while_the_version_is_raised
    before = writers
    @sql.transaction do |tx|
      tx.execute("SELECT FROM elah_cluster FOR UPDATE")
      @store.join(nil, nil)
      wait_until("it waits") { tx.execute("SELECT pg_stat_clear_snapshot()") && tx.value(JOINS).positive? }
      tx.execute("UPDATE elah_cluster SET version = 2")
    end
    assert_refused(before)
  end

  private

  def writers = @sql.value("SELECT count(*) FROM elah_writers")

  def assert_refused(before)
    refusal = /works by version 2 of its protocol, and this process speaks version 1/
    wait_until("it is told") { @store.trouble&.last&.match?(refusal) }
    assert_equal before, writers
  end
end
