# frozen_string_literal: true

require "test_helper"
require "support/board_clients"
require "support/disturbances"
require "support/machines_cluster"
require "support/pool_clients"

# The reference apps on three machines under load, to which one thing happens after the other: no number of a pool is
# lent twice, a number that was released comes back, no confirmed score is lost, and ranks are those of the scores.
class ClusterLawsTest < Minitest::Test
  DISTURBANCES = %i[killed stopped cut_off database_silent database_deaf peers_silent peers_deaf].freeze

  def setup
    obstacle = MachinesCluster.obstacle and skip obstacle
  end

  def test_pools_lend_no_number_twice_and_get_back_what_was_released = disturb(PoolClients)
  def test_boards_lose_no_score_and_their_ranks_are_right = disturb(BoardClients)

  private

  def disturb(kind)
    MachinesCluster.start(3, app: kind::APP, settings: kind::SETTINGS, entity_moving_seconds: 5) do |cluster|
      clients = kind.run(cluster) do |running|
        running.wait_until_served(10)
        disturbances = Disturbances.new(cluster, running)
        DISTURBANCES.each_with_index { |disturbance, index| disturbances.play(disturbance, (index % 3) + 1) }
      end
      clients.read_all
      puts "#{name}: #{clients}" if $VERBOSE
      assert_nil clients.violation
    end
  end
end
