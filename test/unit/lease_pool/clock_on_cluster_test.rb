# frozen_string_literal: true

require "test_helper"
require "support/cluster_case"

# The clock of the holds on machines whose own clocks differ.
class LeasePoolClockOnClusterTest < ClusterCase
  DAY = 86_400

  # The clock on a machine that is a day ahead.
  class Ahead < Elah::LeasePool::Clock
    def wall = super + (DAY * 1_000_000)
  end

  def test_all_machines_have_the_time_of_the_database
    clocks = %w[one two].zip([Elah::LeasePool::Clock, Ahead]).map { |boot, kind| kind.new(@table, boot: boot) }
    clocks.each do |clock|
      assert_in_delta @store.now.to_f, clock.now / 1e6, 60
      assert_equal 0.0, clock.offset
    end
  end
end
