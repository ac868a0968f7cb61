# frozen_string_literal: true

require "test_helper"
require "support/bank_clients"
require "support/board_clients"
require "support/pool_clients"

# The check of histories finds what it is for: faults that are planted in a history of a real cluster.
class ClusterHistoryTest < Minitest::Test
  # @return [ClusterClients] what clients of this kind have called, with no fault
  def self.recorded(kind)
    @recorded ||= {}
    @recorded[kind] ||= AppCluster.start(app: kind::APP, settings: kind::SETTINGS) do |cluster|
      cluster.wait_until_spread(2)
      kind.run(cluster) { |running| running.wait_until_served(60) }.tap(&:read_all)
    end
  end

  def setup
    obstacle = History.obstacle and skip obstacle
  end

  # Copies the calls of an object: that with the most calls of an operation.
  def recall(kind, operation)
    recorded = self.class.recorded(kind)
    @object = recorded.history.calls.first.object
    @calls = recorded.settled.calls.map { |call| call.dup.tap { |copy| copy.output = call.output.dup } }
    @key, @own = @calls.group_by(&:key).max_by { |_, all| all.count { |call| call.operation == operation } }
    @ended_at = @own.filter_map(&:end).max
  end

  def violation(*more) = History.new(@object, @calls + more).violation

  def assert_found(*more) = assert_match(/\A#{@key}: no order of its \d+ calls/, violation(*more).to_s)

  # A call after all others, or at a time.
  def later(operation, input, output, start: @ended_at + 1)
    History::Call.new(object: @object, client: 99, key: @key, operation: operation, input: input, output: output,
                      start: start, end: start + 1)
  end

  # One of which nobody knows.
  def unknown(operation, input, output = nil, start: @ended_at + 1)
    later(operation, input, output, start: start).tap { |call| call.end = nil }
  end
end

# Accounts.
class ClusterAccountHistoryTest < ClusterHistoryTest
  def setup
    super
    recall(BankClients, :deposit)
    @deposits = @own.select(&:write?).sort_by { |call| call.output[:balance] }
    @balance = @deposits.last.output[:balance]
  end

  def read(balance, **time) = later(:read, {}, { balance: balance }, **time)

  def test_what_a_cluster_has_done_is_linearizable
    assert_operator @deposits.size, :>, 2
    assert_nil violation(read(@balance))
  end

  def test_a_stale_read_is_found = assert_found(read(@deposits[-2].output[:balance]))
  def test_a_deposit_that_was_made_twice_is_found = assert_found(read(@balance + @deposits.last.input[:amount]))

  def test_a_lost_deposit_is_found
    lost = @deposits[-2]
    (@own - [lost]).each do |call|
      call.output[:balance] -= lost.input[:amount] if call.output[:balance] >= lost.output[:balance]
    end
    assert_found
  end

  # It may run late, or never, but once.
  def test_a_deposit_of_unknown_fate_may_have_run_or_not
    open = unknown(:deposit, { amount: 1000 })
    run = read(@balance + 1000, start: open.start + 5)
    assert_nil violation(open, read(@balance, start: open.start + 1))
    assert_nil violation(open, run)
    assert_found(open, run, read(@balance, start: open.start + 9))
  end
end

# Pools of numbers.
class ClusterPoolHistoryTest < ClusterHistoryTest
  def setup
    super
    recall(PoolClients, :release)
    @numbers = @own.find { |call| call.operation == :create }.input[:numbers]
    @last = @numbers.to_h { |number| [number, last_lease(number)] }
  end

  # @return [History::Call] the call that made the last lease of a number
  def last_lease(number)
    leases = @own.select { |call| call.operation == :lease && call.output[:number] == number }
    leases.max_by { |call| call.output[:lease][/\d+\z/].to_i }
  end

  def next_of(number) = @last[number].output[:lease].sub(/\d+\z/) { |digits| digits.to_i + 1 }

  # @return [String, nil] the lease that holds a number at the end
  def holder(number)
    @own.select { |call| call.operation == :holder && call.input[:number] == number }.max_by(&:end).output[:lease]
  end

  def held = @numbers.find { |number| holder(number) } || skip("the pool is empty at the end")

  def lease(number, lease, session: "late", **time)
    later(:lease, { session: session }, { number: number, lease: lease }, **time)
  end

  def overflow(**time) = later(:lease, { session: "nobody" }, {}, **time)

  # The pool lends all numbers that are left.
  def fill
    @numbers.reject { |number| holder(number) }.map.with_index do |number, index|
      lease(number, next_of(number), session: "late#{index}", start: @ended_at + 1 + (10 * index))
    end
  end

  def test_what_a_cluster_has_done_is_linearizable
    assert_operator @own.count { |call| call.operation == :release && call.output[:number] }, :>, 5
    assert_operator @own.count { |call| call.operation == :lease && call.output[:number].nil? }, :>, 0
    assert_nil violation(*fill, overflow(start: @ended_at + 100))
  end

  def test_a_number_that_is_lent_twice_is_found = assert_found(lease(held, next_of(held)))

  def test_a_number_that_does_not_come_back_is_found
    *most, last = fill << later(:release, { lease: holder(held) }, { number: held })
    assert_nil violation(*most, last)
    assert_found(*most, last, overflow(start: @ended_at + 100))
  end

  def test_a_lost_lease_is_found
    assert_nil violation(later(:find, { lease: holder(held) }, { number: held }))
    assert_found(later(:find, { lease: holder(held) }, {}))
    assert_found(later(:holder, { number: held }, {}))
  end

  def test_a_lease_that_goes_on_after_its_release_is_found
    released = @own.select { |call| call.operation == :release && call.output[:number] }.max_by(&:end)
    assert_found(later(:find, released.input, released.output))
  end

  def test_a_session_that_gets_a_second_number_is_found
    free = later(:release, { lease: holder(held) }, { number: held })
    got = lease(held, next_of(held), start: @ended_at + 5)
    assert_nil violation(free, got)
    assert_found(free, got, lease(held, "#{next_of(held)}0", start: @ended_at + 9))
  end

  def test_a_serial_number_that_comes_back_is_found
    free = later(:release, { lease: holder(held) }, { number: held })
    assert_found(free, lease(held, holder(held), start: @ended_at + 5))
  end

  def test_holds_that_overlap_are_found
    clients = PoolClients.allocate
    one, two, three = [0, 2, 1].map { |time| PoolClients::Hold.new("+1", "1-#{time}", time, time + 2) }
    clients.instance_variable_set(:@holds, [one, two])
    assert_nil clients.send(:overlaps)
    clients.holds << three
    assert_match(/lent twice/, clients.send(:overlaps))
  end
end

# Leaderboards.
class ClusterBoardHistoryTest < ClusterHistoryTest
  def setup
    super
    recall(BoardClients, :top)
    @top = @own.select { |call| call.operation == :top }.max_by(&:end)
    @rows = @top.output[:members]
    @first, @second = @rows
  end

  def show(row, **time) = later(:show, { member: row["member"] }, { score: row["score"], rank: row["rank"] }, **time)
  def top(rows) = later(:top, {}, { members: rows })

  def test_what_a_cluster_has_done_is_linearizable
    assert_operator @rows.size, :>, 2
    assert_nil violation(show(@first), top(@rows))
  end

  def test_a_stale_score_is_found
    changes = @own.map { |call| call.output.values_at(:previous_score, :score) }
    before, = changes.find { |old, new| new == @first["score"] && ![nil, new].include?(old) }
    assert_found(show({ **@first, "score" => before }))
  end

  def test_a_lost_score_is_found
    set = later(:set, { member: "new", value: -1 }, { score: -1, rank: @rows.size + 1 })
    assert_nil violation(set, later(:show, { member: "new" }, set.output, start: @ended_at + 5))
    assert_found(set, later(:show, { member: "new" }, {}, start: @ended_at + 5))
    assert_found(set, later(:top, {}, @top.output, start: @ended_at + 5))
  end

  def test_an_increment_that_counts_twice_is_found
    added = later(:increment, { member: @first["member"], value: 1 },
                  { score: @first["score"] + 1, previous_score: @first["score"], rank: 1, previous_rank: 1 })
    assert_nil violation(added, show({ **@first, "score" => @first["score"] + 1 }, start: @ended_at + 5))
    assert_found(added, show({ **@first, "score" => @first["score"] + 2 }, start: @ended_at + 5))
  end

  def test_a_wrong_rank_is_found
    assert_found(show({ **@first, "rank" => 2 }))
    assert_found(top([{ **@second, "rank" => 1 }, { **@first, "rank" => 2 }, *@rows.drop(2)]))
    assert_found(top(@rows.drop(1)))
  end

  def test_a_score_of_a_board_in_parts_that_is_lost_is_found
    writes = @calls.select { |call| call.key.include?("/") && call.write? }
    last = writes.select { |write| changes?(write) && alone?(write) }.max_by(&:end)
    @key = last.key
    shown = later(:show, { member: last.input[:member] }, { score: last.output[:score] }, start: last.end + 1)
    @calls.reject! { |call| call.key == @key && call.start > last.end }
    assert_nil violation(shown)
    shown.output = { score: last.output[:previous_score] }
    assert_found(shown)
  end

  private

  def changes?(write) = write.output[:score] != write.output[:previous_score]

  # Of calls that overlap, the one that ends last need not be the one whose score stays.
  def alone?(write)
    @calls.none? do |call|
      !call.equal?(write) && call.key == write.key && call.end > write.start && call.start < write.end
    end
  end
end
