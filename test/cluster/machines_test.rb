# frozen_string_literal: true

require "test_helper"
require "support/machines_cluster"

# A cluster on three machines under load, with a network between them and mutual TLS. Machines are killed, cut off and
# stopped; whatever happens, the calls of each account could have run one at a time, and no confirmed deposit is lost.
class ClusterMachinesTest < Minitest::Test
  include Patience

  def setup
    obstacle = MachinesCluster.obstacle and skip obstacle
  end

  # Runs the block under load, then reads all accounts at all machines and checks the history.
  #
  # @yieldparam cluster [MachinesCluster]
  # @yieldparam clients [BankClients]
  def under_load(**options)
    MachinesCluster.start(3, app: BankClients::APP, **options) do |cluster|
      clients = BankClients.run(cluster) do |running|
        running.wait_until_served(10)
        yield cluster, running
      end
      clients.read_all
      puts "#{name}: #{clients}" if $VERBOSE
      assert_nil clients.violation
    end
  end

  def test_a_machine_that_is_killed_is_lost_with_its_disk_and_joins_again
    under_load do |cluster, clients|
      cluster.servers[0].kill
      cluster.wait_until_left(2)
      clients.wait_until_served(10, places: [1, 2])
      cluster.boot(1)
      cluster.wait_until_spread(3)
      clients.wait_until_served(10)
    end
  end

  def test_a_machine_that_was_cut_off_comes_back_and_reads_nothing_old
    under_load do |cluster, clients|
      cluster.machines.cut(1)
      cluster.wait_until_left(2)
      clients.wait_until_served(10, places: [1, 2])
      cluster.machines.join(1)
      clients.wait_until_served(10)
      cluster.wait_until_spread(3)
    end
  end

  # The kernel of the machine still accepts what is sent to it: nobody but the database tells that it is dead.
  def test_calls_to_a_machine_that_stands_still_end_and_it_reads_nothing_old
    under_load do |cluster, clients|
      stopped = cluster.servers[0]
      stopped.signal(:STOP)
      cluster.wait_until_left(2)
      clients.wait_until_served(10, places: [1, 2])
      stopped.signal(:CONT)
      stopped.wait_for(/was declared dead/)
      clients.wait_until_served(10)
      [1, 2].each { |place| refute_includes clients.statuses(place), :unknown }
    end
  end

  # From the database nothing comes back, although what the machine sends is executed; to the database nothing arrives.
  { from: "to_which_the_database_does_not_reply", to: "whose_statements_do_not_arrive" }.each do |direction, name|
    define_method(:"test_a_machine_#{name}_loses_its_shards") do
      under_load do |cluster, clients|
        with_drops(cluster, 1, direction => cluster.database_address) do
          cluster.wait_until_left(2)
          clients.wait_until_served(10, places: [1, 2])
        end
        clients.wait_until_served(10)
        cluster.wait_until_spread(3)
      end
    end
  end

  # Calls across the cut fail, the others do not: nobody is declared dead.
  def test_a_machine_that_is_cut_off_from_the_others_alone_keeps_its_shards
    under_load(entity_moving_seconds: 1) do |cluster, clients|
      before = cluster.members.keys
      %i[from to].each do |direction|
        with_drops(cluster, 1, direction => cluster.peers_of(1)) do
          clients.wait_until_failed(0)
          clients.wait_until_served(2)
        end
      end
      clients.wait_until_no_call_fails(5)
      assert_equal before, cluster.members.keys
    end
  end

  # The kernel completes connections until a listener closes, and ends those that nobody has accepted: one at a restart
  # now and then, of tens of thousands of calls. No call between the machines fails.
  def test_machines_are_restarted_one_after_the_other_and_no_call_of_another_fails
    under_load do |cluster, clients|
      3.times do |place|
        cluster.servers[place].signal(:TERM)
        cluster.servers[place].wait_until_ended
        cluster.boot(place + 1)
        cluster.wait_until_spread(3)
        clients.wait_until_served(5)
      end
      found = Array.new(3) { |place| clients.statuses(place) }
      assert_equal 0, found.sum { |statuses| statuses[503].to_i }, clients.to_s
      assert_operator found.sum { |statuses| statuses[:unknown].to_i }, :<=, 3, clients.to_s
    end
  end

  private

  def with_drops(cluster, number, **drops)
    cluster.machines.drop(number, **drops)
    yield
  ensure
    cluster.machines.heal(number)
  end
end
