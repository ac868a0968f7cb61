# frozen_string_literal: true

require "test_helper"
require "support/bank_clients"
require "support/board_clients"
require "support/disturbances"
require "support/machines_cluster"
require "support/pool_clients"

# A cluster on three machines to which something happens at random, again and again, for ELAH_CLUSTER_SECONDS. Accounts,
# pools and boards take turns. After each time the calls so far could have run one at a time.
class ClusterDisturbancesTest < Minitest::Test
  include Patience

  SECONDS = Integer(ENV.fetch("ELAH_CLUSTER_SECONDS", "600"))
  SEED = Integer(ENV.fetch("ELAH_CLUSTER_SEED", Random.new_seed.to_s))

  KINDS = [BankClients, PoolClients, BoardClients].freeze

  # So that a history is not too long to check.
  DISTURBANCES_OF_A_CLUSTER = 6

  def test_no_order_of_disturbances_breaks_the_cluster
    obstacle = MachinesCluster.obstacle and skip obstacle
    random = Random.new(SEED)
    ends_at = monotonic + SECONDS
    round = 0
    while monotonic < ends_at
      kind = KINDS[round % KINDS.size]
      round += 1
      MachinesCluster.start(3, app: kind::APP, settings: kind::SETTINGS, entity_moving_seconds: 5) do |cluster|
        play(cluster, kind, random, round, ends_at)
      end
    end
  end

  private

  def play(cluster, kind, random, round, ends_at)
    done = []
    clients = kind.run(cluster) do |running|
      disturbances = Disturbances.new(cluster, running)
      until done.size == DISTURBANCES_OF_A_CLUSTER || (done.any? && monotonic > ends_at)
        done << [Disturbances::ALL.sample(random: random), random.rand(1..3)]
        disturbances.play(*done.last)
      end
    end
    clients.read_all
    puts "seed #{SEED}, round #{round}: #{done.join(' ')}: #{clients}"
    assert_nil clients.violation, "seed #{SEED}, round #{round}: #{done.join(' ')}"
  end
end
