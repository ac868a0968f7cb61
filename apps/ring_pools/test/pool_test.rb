# frozen_string_literal: true

require_relative "pool_case"

# What a pool promises: a number is one holder's for the hold time, whatever else happens.
class PoolTest < PoolCase
  def test_each_number_is_given_once_and_then_the_overflow_number
    pool = pool(3)
    leases = Array.new(5) { allocate(pool) }
    assert_equal numbers(3), leases.first(3).map(&:number)
    assert_equal [[:overflow, 18_005_559_999, "exhausted", nil]] * 2, leases.last(2).map { |lease| [lease.kind, lease.number, lease.reason, lease.id] }
    assert_equal({ numbers: 3, free: 0, held: 3, quarantined: 0, leaving: 0 }, pool.occupancy)
    assert_equal [3, 2], [pool.grant, pool.overflows]
  end

  def test_a_pool_without_overflow_refuses
    pool = pool(2, overflow: nil)
    2.times { allocate(pool) }
    lease = allocate(pool)
    assert_equal [:refused, nil, "exhausted"], [lease.kind, lease.number, lease.reason]
  end

  def test_a_number_is_free_when_its_hold_is_over_and_not_before
    pool = pool(2)
    first = allocate(pool)
    later(10)
    allocate(pool)
    later(49.999_99)
    assert_equal :overflow, allocate(pool).kind
    assert_equal first.due, pool.next_free_at
    later(0.000_02)
    assert_equal first.number, allocate(pool).number
  end

  def test_a_session_keeps_its_number
    pool = pool(3)
    first = allocate(pool, "a")
    later(30)
    again = allocate(pool, "a")
    assert_equal [:same, first.number, first.grant, first.due], [again.kind, again.number, again.grant, again.due]
    later(31)
    assert_equal :new, allocate(pool, "a").kind
  end

  def test_renewing_lets_the_hold_begin_anew
    pool = pool(2)
    lease = allocate(pool)
    later(50)
    renewed = pool.renew(@now, lease.number, lease.grant)
    assert_equal [:renewed, @now + 60 * SECOND], [renewed.kind, renewed.due]
    later(59)
    assert_equal lease.grant, pool.find(@now, lease.number, lease.grant).grant
    later(2)
    assert_nil pool.renew(@now, lease.number, lease.grant)
  end

  def test_a_released_number_is_free_and_its_lease_is_over
    pool = pool(2)
    lease = allocate(pool)
    assert_equal :released, pool.release(@now, lease.number, lease.grant).kind
    assert_nil pool.release(@now, lease.number, lease.grant)
    3.times { allocate(pool) }
    assert_nil pool.release(@now, lease.number, lease.grant), "the lease after it is another's"
  end

  def test_quarantine_follows_the_hold_and_the_release
    pool = pool(2, quarantine: 30 * SECOND)
    one = allocate(pool)
    allocate(pool)
    later(1)
    pool.release(@now, one.number, one.grant)
    later(29)
    assert_equal :overflow, allocate(pool).kind
    later(1.1)
    assert_equal one.number, allocate(pool).number
    later(30)
    assert_equal({ numbers: 2, free: 0, held: 1, quarantined: 1, leaving: 0 }, pool.tap { |known| known.advance(@now) }.occupancy)
    later(30)
    assert_equal :new, allocate(pool).kind
  end

  def test_a_number_that_is_no_longer_listed_leaves_when_its_hold_is_over
    pool = pool(3)
    held = allocate(pool)
    gone = pool.change(@now, terms(revision: 2), numbers(3).last(2) - [FIRST + 2] + [FIRST + 5])
    assert_equal({ FIRST => held.due, FIRST + 2 => pool.now }, gone)
    assert_equal held.due, pool.renew(@now, held.number, held.grant).due, "a number that leaves is not prolonged"
    assert_equal [FIRST + 1, FIRST + 5], Array.new(2) { allocate(pool).number }
    later(60)
    assert_equal({ numbers: 2, free: 2, held: 0, quarantined: 0, leaving: 0 }, pool.tap { |known| known.advance(@now + 10) }.occupancy)
  end

  def test_a_number_that_comes_back_while_it_leaves_stays
    pool = pool(2)
    held = allocate(pool)
    pool.change(@now, terms, [FIRST + 1, FIRST + 2])
    pool.change(@now, terms, numbers(3))
    later(61)
    assert_equal numbers(3).sort, Array.new(3) { allocate(pool).number }.sort
    refute_nil held
  end

  def test_a_shorter_hold_time_shortens_no_hold
    pool = pool(3, hold: 1000 * SECOND)
    long = allocate(pool)
    pool.change(@now, terms(hold: 10 * SECOND), numbers(3))
    2.times { allocate(pool) }
    later(11)
    assert_equal [FIRST + 1, FIRST + 2], Array.new(2) { allocate(pool).number }
    assert_equal :overflow, allocate(pool).kind
    assert_equal long.due, pool.find(@now, long.number, long.grant).due
    later(990)
    assert_nil pool.find(@now, long.number, long.grant)
  end

  def test_a_pool_that_drains_gives_nothing_and_ends_no_hold
    pool = pool(2)
    lease = allocate(pool)
    pool.change(@now, terms(draining: true), numbers(2))
    assert_equal "draining", allocate(pool).reason
    refute_nil pool.renew(@now + SECOND, lease.number, lease.grant)
  end

  def test_a_clock_that_runs_backwards_ends_no_hold_and_makes_no_two_steps_equal
    pool = pool(2)
    one = allocate(pool)
    @now -= 3600 * SECOND
    two = allocate(pool)
    assert_operator two.begun, :>, one.begun
    assert_equal :overflow, allocate(pool).kind
  end

  def test_longest_idle_gives_the_number_that_was_free_for_longest
    pool = pool(3)
    one, two = Array.new(2) { allocate(pool) }
    pool.release(@now, two.number, two.grant)
    pool.release(@now, one.number, one.grant)
    assert_equal [FIRST + 2, two.number, one.number], Array.new(3) { allocate(pool).number }
  end

  def test_round_robin_goes_by_the_order_of_the_numbers
    pool = pool(200, policy: "round_robin")
    leases = Array.new(130) { allocate(pool) }
    leases.values_at(5, 3, 120).each { |lease| pool.release(@now, lease.number, lease.grant) }
    assert_equal [*130..199, 3, 5, 120].map { |index| FIRST + index }, Array.new(73) { allocate(pool).number }
    assert_equal :overflow, allocate(pool).kind
  end

  def test_random_gives_each_number_with_the_same_chance
    pool = pool(10, policy: "random")
    counts = Hash.new(0)
    draws = 20_000
    draws.times do
      lease = allocate(pool)
      counts[lease.number] += 1
      pool.release(@now, lease.number, lease.grant)
    end
    chi_square = numbers(10).sum { |number| (counts[number] - draws / 10.0)**2 / (draws / 10.0) }
    assert_operator chi_square, :<, 45.0, "9 degrees of freedom: p < 1e-6"
  end

  def test_what_is_written_down_says_what_the_rows_say
    plain = pool(5)
    rows = lambda do |pool|
      text = RingPools::History::Snapshots.write(pool)
      assert_equal pool.rows, RingPools::History::Snapshots.rows(text)
      Elah::JSON.parse(text).key?("rows")
    end
    refute rows.call(plain)
    3.times { allocate(plain) && later(10) }
    refute rows.call(plain), "columns are enough"
    plain.renew(@now, FIRST, 1)
    refute rows.call(plain)
    allocate(plain, "a")
    assert rows.call(plain), "sessions stand in rows"
    assert rows.call(pool(5, quarantine: SECOND, policy: "random"))
    later(100)
    plain.advance(@now)
    assert_equal plain.rows, RingPools::History::Snapshots.rows(RingPools::History::Snapshots.write(plain))
  end

  def test_sticky_gives_a_session_the_number_that_it_had_last
    pool = pool(3, policy: "sticky")
    had = allocate(pool, "a").number
    later(61)
    allocate(pool, "b")
    later(61)
    assert_equal had, allocate(pool, "a").number
    2.times { allocate(pool) }
    later(61)
    3.times { |index| allocate(pool, "c#{index}") }
    assert_equal :overflow, allocate(pool, "a").kind, "what somebody else has had is nobody's place any more"
  end

  def test_a_policy_can_change_while_numbers_are_held
    pool = pool(4)
    lease = allocate(pool)
    RingPools::Policies::NAMES.each do |name|
      pool.change(@now, terms(policy: name), numbers(4))
      others = Array.new(3) { allocate(pool) }
      assert_equal numbers(4), (others.map(&:number) + [lease.number]).sort
      assert_equal :overflow, allocate(pool).kind
      others.each { |other| pool.release(@now, other.number, other.grant) }
    end
  end
end
