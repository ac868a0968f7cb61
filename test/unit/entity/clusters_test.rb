# frozen_string_literal: true

require "test_helper"
require "support/servers"

# Entities on several clusters in one process.
class EntityClustersTest < Minitest::Test
  %i[First Second].each do |name|
    const_set(name, Class.new(Elah::Entity) do
      def add(number)
        sum = state.get("sum").to_i + number
        state.put("sum", sum.to_s)
        sum
      end
    end)
  end

  # Both listened on one socket, and the second failed.
  def test_a_process_takes_part_in_two_clusters
    server = Servers::PostgreSQL.shared
    admin = Elah::SQL.new(server.url, connections_max: 1)
    stores = [First, Second].map do |entity|
      name = "clusters_#{object_id}_#{entity.name[/\w+\z/].downcase}"
      admin.execute("CREATE DATABASE #{name}")
      Elah::Store.open(server.url.sub(/\w+\z/, name), shards: 8, sweep_seconds: 3600)
    end
    sums = [First, Second].zip(stores).map { |entity, store| entity.in(store) }
    Elah.run { assert_equal([3, 4], [sums[0]["a"].add(3), sums[1]["a"].add(4)]) }
  ensure
    stores&.each(&:close)
    admin&.close
  end
end
