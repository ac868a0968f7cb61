# frozen_string_literal: true

require "test_helper"
require "support/bank_clients"
require "support/bank_cluster"

# The check of histories finds what it is for: faults that are planted in a history of a real cluster.
class ClusterHistoryTest < Minitest::Test
  def self.recorded
    @recorded ||= BankCluster.start(servers: 2) do |cluster|
      cluster.wait_until_spread(cluster.servers[0], 2)
      clients = BankClients.run(cluster) { |running| running.wait_until_served(60) }
      clients.read_all
      clients.history.calls
    end
  end

  def setup
    obstacle = History.obstacle and skip obstacle
    @calls = self.class.recorded.map(&:dup)
    @key, calls = @calls.group_by(&:key).max_by { |_, all| all.count(&:amount) }
    @deposits = calls.select(&:amount).sort_by(&:balance)
  end

  def violation(more = []) = History.new(@calls + more).violation

  def read(balance, call)
    History::Call.new(client: 99, key: @key, start: call.end + 1, end: call.end + 2, balance: balance)
  end

  def test_what_a_cluster_has_done_is_linearizable
    assert_operator @deposits.size, :>, 2
    assert_nil violation
  end

  def test_a_stale_read_is_found
    old, new = @deposits.values_at(-2, -1)
    assert_nil violation([read(new.balance, new)])
    assert_match(/\A#{@key}: no order of its \d+ calls/, violation([read(old.balance, new)]))
  end

  def test_a_lost_deposit_is_found
    lost = @deposits[-2]
    @calls.each { |call| call.balance -= lost.amount if call.key == @key && call.balance > lost.balance }
    assert_match(/\A#{@key}: no order/, violation)
  end

  def test_a_deposit_that_was_made_twice_is_found
    last = @deposits.last
    assert_match(/\A#{@key}: no order/, violation([read(last.balance + last.amount, last)]))
  end

  # It may run late, or never, but once.
  def test_a_deposit_of_unknown_fate_may_have_run_or_not
    last = @deposits.last
    @calls.reject! { |call| call.key == @key && call.start > last.start && call.amount.nil? }
    unknown = History::Call.new(client: 98, key: @key, amount: 1000, start: last.end)
    later = read(last.balance + 1000, last)
    assert_nil violation([unknown, read(last.balance, last)])
    assert_nil violation([unknown, later])
    again = read(last.balance, last).tap { |call| call.start = later.end + 1; call.end = later.end + 2 }
    assert_match(/no order/, violation([unknown, later, again]))
  end
end
