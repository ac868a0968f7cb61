# frozen_string_literal: true

require "test_helper"
require "support/bank_cluster"
require "support/cluster_certificates"
require "support/machines"

# A cluster on three machines with a network between them and mutual TLS: one is killed, one is cut off. No confirmed
# deposit is lost, and no machine reads what is out of date.
class ClusterMachinesTest < Minitest::Test
  include Patience

  KEYS = Array.new(30) { |number| "account#{number}" }.freeze

  def setup
    obstacle = Machines.obstacle and skip obstacle
    @folder = Dir.mktmpdir("elah-machines")
  end

  def teardown = @folder && FileUtils.remove_entry(@folder)

  # @yieldparam cluster [BankCluster]
  # @yieldparam machines [Machines]
  def with_machines(count)
    certificates = ClusterCertificates.new(@folder)
    Machines.start(count) do |machines|
      database = { settings: { "listen_addresses" => "127.0.0.1,#{machines.address(Machines::HOST)}" } }
      BankCluster.start(servers: 0, database: database, host: machines.address(Machines::HOST)) do |cluster|
        cluster.admit(machines.network)
        (1..count).each do |number|
          address = machines.address(number)
          files = certificates.issue("node#{number}").map { |name, path| "#{name}=#{path}" }.join(",")
          cluster.add(cluster_node: "node#{number}", cluster_listen: "#{address}:9400-9463", bind: "tcp://#{address}:0",
                      cluster_tls: files, under: machines.on(number))
        end
        cluster.wait_until_spread(cluster.servers[0], count)
        yield cluster, machines
      end
    end
  end

  def test_three_machines_share_all_accounts_and_two_go_on_when_one_is_killed
    with_machines(3) do |cluster, _|
      KEYS.each_with_index { |key, index| assert_equal 201, cluster.deposit(cluster.servers[index % 3], key, index + 1) }
      cluster.servers.each { |server| assert_equal cluster.confirmed, cluster.balances(server) }
      cluster.servers[0].signal(:KILL)
      one, two = cluster.servers.drop(1)
      KEYS.each_with_index { |key, index| cluster.deposit(index.even? ? one : two, key, 100) }
      assert_empty cluster.wrong(one)
      assert_empty cluster.wrong(two)
      wait_until("the dead one is known to be dead") { cluster.members(one).size == 2 }
    end
  end

  def test_a_machine_that_was_cut_off_comes_back_and_reads_nothing_old
    with_machines(2) do |cluster, machines|
      one, two = cluster.servers
      KEYS.each { |key| assert_equal 201, cluster.deposit(one, key, 1) }
      machines.cut(1)
      wait_until("the other owns all shards") { cluster.shards(two) == [BankCluster::OPTIONS[:shards]] }
      KEYS.each { |key| assert_equal 201, cluster.deposit(two, key, 10) }
      machines.join(1)
      wait_until("it is back") { one.get("/#{KEYS[0]}").status == 200 }
      assert_empty cluster.wrong(one)
      cluster.wait_until_spread(two, 2)
      KEYS.each { |key| assert_equal 201, cluster.deposit(one, key, 100) }
      assert_empty cluster.wrong(two)
    end
  end
end
