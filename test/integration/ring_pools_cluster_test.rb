# frozen_string_literal: true

require "test_helper"
require "support/ring_pools_server"
require "support/servers"

# The ring pools on two servers with one PostgreSQL: they lend the same numbers, and no number twice.
class RingPoolsClusterTest < Minitest::Test
  NUMBERS = Array.new(40) { |number| "+1888555#{format('%04d', number)}" }.freeze
  OPTIONS = { lease_seconds: 2.5, shards: 16, entity_moving_seconds: 30, request_seconds: 60 }.freeze

  def setup
    @database = Servers::PostgreSQL.start
    @servers = Array.new(2) { RingPoolsServer.new({ ring_pools_deadline_ms: 20_000 }, { cluster: @database.url, **OPTIONS }) }
  end

  def teardown
    @servers.each(&:remove)
    @database.remove
  end

  def test_two_servers_lend_each_number_once_and_go_on_when_one_is_killed
    pools = [NUMBERS[0, 20], NUMBERS[20, 20]].map { |numbers| @servers[0].create(numbers) }
    rows = 8.times.flat_map { |round| @servers[round % 2].bulk(pools) }
    lent = rows.map { |row| row.fetch("phone_number") }
    assert_equal 16, lent.uniq.size, lent.inspect
    @servers[0].kill
    lent += 8.times.flat_map { @servers[1].bulk(pools) }.map { |row| row.fetch("phone_number") }
    assert_equal 32, lent.uniq.size, lent.inspect
  end
end
