# frozen_string_literal: true

require "test_helper"
require "support/machines_cluster"

# A cluster on three machines to which something happens at random, again and again, for ELAH_CLUSTER_SECONDS. After each
# time the calls so far could have run one at a time.
class ClusterDisturbancesTest < Minitest::Test
  include Patience

  SECONDS = Integer(ENV.fetch("ELAH_CLUSTER_SECONDS", "600"))
  SEED = Integer(ENV.fetch("ELAH_CLUSTER_SEED", Random.new_seed.to_s))

  # What happens to a machine. Each method ends it again.
  DISTURBANCES = %i[killed stopped cut_off database_silent database_deaf peers_silent peers_deaf peers_gone
                    restarted database_restarted].freeze

  # So that a history is not too long to check.
  DISTURBANCES_OF_A_CLUSTER = 6

  def patience_seconds = 180

  def test_no_order_of_disturbances_breaks_the_cluster
    obstacle = MachinesCluster.obstacle and skip obstacle
    random = Random.new(SEED)
    ends_at = monotonic + SECONDS
    round = 0
    while monotonic < ends_at
      round += 1
      MachinesCluster.start(3, entity_moving_seconds: 5) do |cluster|
        @cluster = cluster
        play(random, round, ends_at)
      end
    end
  end

  private

  def play(random, round, ends_at)
    done = []
    @clients = BankClients.run(@cluster) do |clients|
      @clients = clients
      until done.size == DISTURBANCES_OF_A_CLUSTER || (done.any? && monotonic > ends_at)
        number = random.rand(1..3)
        done << "#{DISTURBANCES.sample(random: random)}(#{number})"
        send(done.last[/\w+/], number)
        clients.wait_until_served(5)
      end
    end
    @clients.read_all
    puts "seed #{SEED}, round #{round}: #{done.join(', ')}: #{@clients}"
    assert_nil @clients.history.violation, "seed #{SEED}, round #{round}: #{done.join(', ')}"
  end

  def others(number) = [0, 1, 2] - [number - 1]

  def killed(number)
    @cluster.servers[number - 1].kill
    @clients.wait_until_served(5, places: others(number))
    @cluster.boot(number)
  end

  def stopped(number)
    server = @cluster.servers[number - 1]
    server.signal(:STOP)
    @clients.wait_until_served(5, places: others(number))
  ensure
    server.signal(:CONT)
  end

  def cut_off(number)
    @cluster.machines.cut(number)
    @clients.wait_until_served(5, places: others(number))
  ensure
    @cluster.machines.join(number)
  end

  def database_silent(number) = while_dropping(number, from: @cluster.database_address)
  def database_deaf(number) = while_dropping(number, to: @cluster.database_address)
  def peers_silent(number) = while_dropping(number, from: @cluster.peers_of(number))
  def peers_deaf(number) = while_dropping(number, to: @cluster.peers_of(number))

  def peers_gone(number)
    peers = @cluster.peers_of(number)
    while_dropping(number, from: peers, to: peers)
  end

  def while_dropping(number, **drops)
    @cluster.machines.drop(number, **drops)
    @clients.wait_until_served(5, places: others(number))
  ensure
    @cluster.machines.heal(number)
  end

  def restarted(number)
    server = @cluster.servers[number - 1]
    server.signal(:TERM)
    server.wait_until_ended
    @cluster.boot(number)
  end

  def database_restarted(_number)
    @cluster.database.kill
    @cluster.database.start
  end
end
