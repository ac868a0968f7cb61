# frozen_string_literal: true

require "test_helper"
require "support/patience"
require "support/ring_pools_server"
require "support/servers"

# The ring pools on two servers with one PostgreSQL: they lend the same numbers, and no number twice.
class RingPoolsClusterTest < Minitest::Test
  include Patience

  NUMBERS = Array.new(40) { |number| "+1888555#{format('%04d', number)}" }.freeze
  OVERFLOW = "+18005550199"
  OPTIONS = { lease_seconds: 2.5, shards: 16, entity_moving_seconds: 30, request_seconds: 60 }.freeze

  def setup
    @database = Servers::PostgreSQL.start
    @servers = Array.new(2) do
      RingPoolsServer.new({ ring_pools_deadline_ms: 20_000 }, { cluster: @database.url, **OPTIONS })
    end
  end

  def teardown
    @servers.each(&:remove)
    @database.remove
  end

  def test_two_servers_lend_each_number_once_and_go_on_when_one_is_killed
    pools = [NUMBERS[0, 20], NUMBERS[20, 20]].map { |numbers| @servers[0].create(numbers, overflow_number: OVERFLOW) }
    lent = 8.times.flat_map { |round| numbers(@servers[round % 2].bulk(pools)) }
    assert_equal 16, lent.uniq.size, lent.inspect
    refute_includes lent, OVERFLOW[2..]
    @servers[0].kill
    # Until the pools have another owner, calls have the overflow number.
    first = []
    wait_until("both pools are lent from") { (first = numbers(@servers[1].bulk(pools)) - [OVERFLOW[2..]]).size == 2 }
    lent += first + 7.times.flat_map { numbers(@servers[1].bulk(pools)) }
    assert_equal 32, lent.uniq.size, lent.inspect
  end

  # The number of pools was asked for in the transaction, by another connection: when all of them had begun one, each
  # waited for the others.
  def test_more_pools_than_connections_are_created_at_once
    answers = Array.new(30) do |pool|
      numbers = Array.new(2) { |number| format("+1202555%04d", (2 * pool) + number) }
      Thread.new { @servers[0].post("/pools", { numbers: numbers, overflow_number: OVERFLOW }).status }
    end
    assert_equal [201], answers.map(&:value).uniq
  end

  private

  def numbers(rows) = rows.map { |row| row.fetch("promo_number") }
end
