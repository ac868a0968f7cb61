# frozen_string_literal: true

require "test_helper"
require "elah"

# A lease pool in memory, with a clock that the test moves.
class LeasePoolTest < Minitest::Test
  SECOND = 1_000_000
  Clock = Struct.new(:now)

  def setup = @clock = Clock.new(1_700_000_000 * SECOND)

  def pool(items = 1..3, hold: 60, **settings) = Elah::LeasePool.new(items, hold: hold, clock: @clock, **settings)

  def later(seconds) = @clock.now += (seconds * SECOND).round

  def test_a_lease_says_what_was_lent_and_until_when
    lease = pool.lease(session: "ann")
    assert_equal 1, lease.item
    assert_equal "1-1", lease.id
    assert_equal "ann", lease.session
    assert_equal 60 * SECOND, lease.held_until - lease.begun_at
    assert_predicate lease, :new?
  end

  def test_items_are_lent_once_until_their_holds_end
    pool = pool()
    assert_equal [1, 2, 3, nil], pool.lease_all(4).map { |lease| lease&.item }
    later(61)
    assert_equal 1, pool.lease.item
    assert_equal 1, pool.overflows
    assert_equal 4, pool.leases
  end

  def test_a_session_holds_one_lease
    pool = pool()
    first = pool.lease(session: "ann")
    again = pool.lease(session: "ann")
    assert_equal first.id, again.id
    refute_predicate again, :new?
    assert_equal 2, pool.statistics.free
  end

  def test_an_item_that_is_wanted
    pool = pool()
    assert_equal 2, pool.lease(item: 2).item
    assert_nil pool.lease(item: 2)
    assert_nil pool.lease(item: 99)
  end

  def test_renew_release_and_find_miss_a_lease_that_is_over
    pool = pool()
    lease = pool.lease
    later(59)
    assert_equal @clock.now + (60 * SECOND), pool.renew(lease.id).held_until
    assert_equal lease.item, pool.find(lease.id).item
    assert_equal lease.id, pool.release(lease.id).id
    assert_nil pool.release(lease.id)
    assert_nil pool.renew(lease.id)
    assert_nil pool.find(lease.id)
  end

  def test_what_is_no_id_names_no_lease
    pool = pool()
    pool.lease
    ["", "1", "1-", "-1", "1-1-1", "1-x", "+1-1", " 1-1", "9" * 400, "1-#{'9' * 30}", "\xff-1"].each do |id|
      assert_nil pool.find(id), id.inspect
    end
    assert_raises(TypeError) { pool.find(nil) }
    assert_raises(TypeError) { pool.release(7) }
  end

  def test_quarantine_and_the_time_of_the_next_free_item
    pool = pool([7], quarantine: 10)
    lease = pool.lease
    assert_equal lease.held_until + (10 * SECOND), pool.statistics.next_free_at
    later(61)
    assert_equal 1, pool.statistics.quarantined
    assert_nil pool.lease
    later(10)
    assert_equal 7, pool.lease.item
  end

  def test_leases_as_json
    pool = pool([7])
    later(1)
    text = pool.lease_all_json([{ session: "a\"ü" }, {}])
    at = @clock.now
    assert_equal [{ "lease" => "7-1", "item" => 7, "session" => "a\"ü", "begun_at" => at,
                    "held_until" => at + (60 * SECOND) }, nil], Elah::JSON.parse(text)
  end

  # They were lent any item, and to nobody: keys that are Strings, and unknown ones, were ignored.
  def test_a_list_takes_the_parameters_of_an_api_and_refuses_unknown_keys
    wants = [{ "session" => "cid", "item" => 2, "data" => nil }]
    [[{ session: "cid", item: 2 }], wants, Elah::Framework::Params.wrap(wants)].each do |requests|
      assert_equal([[2, "cid"]], pool.lease_all(requests).map { |lease| [lease.item, lease.session] })
      assert_equal "cid", Elah::JSON.parse(pool.lease_all_json(requests))[0]["session"]
    end
    pool = pool()
    error = assert_raises(ArgumentError) { pool.lease_all([{}, { "seat" => 7 }]) }
    assert_equal "A request has the keys session, item and data, not seat.", error.message
    assert_equal 3, pool.statistics.free
  end

  def test_a_batch_with_a_bad_request_lends_nothing
    pool = pool()
    assert_raises(Elah::LeasePool::InvalidSession) { pool.lease_all([{}, { session: "" }]) }
    assert_raises(TypeError) { pool.lease_all([{}, 7]) }
    assert_raises(TypeError) { pool.lease_all([{}, { session: 7 }]) }
    assert_raises(ArgumentError) { pool.lease_all(-1) }
    assert_raises(NoMethodError) { pool.lease_all(nil) }
    assert_equal 3, pool.statistics.free
    assert_equal 0, pool.leases
  end

  def test_resize_tells_who_leaves_and_when
    pool = pool([1, 2], quarantine: 10)
    lease = pool.lease
    later(1)
    assert_equal({ 1 => lease.held_until + (10 * SECOND), 2 => @clock.now }, pool.resize([3]))
    assert_equal [3], pool.items
    assert_equal({ 1 => lease.held_until + (10 * SECOND) }, pool.resize([3]))
    later(71)
    assert_empty pool.resize([3])
  end

  def test_a_draining_pool_lends_nothing
    pool = pool()
    lease = pool.lease
    pool.drain
    assert_predicate pool, :draining?
    error = assert_raises(Elah::LeasePool::Exhausted) { pool.lease! }
    assert_equal "The pool is draining.", error.message
    assert_equal lease.item, pool.renew(lease.id).item
    pool.resume
    assert_equal 2, pool.lease!.item
  end

  def test_terms_change_for_later_leases
    pool = pool()
    first = pool.lease
    pool.change(hold: 5, policy: :round_robin)
    assert_equal 5 * SECOND, pool.lease.then { |lease| lease.held_until - lease.begun_at }
    assert_equal first.held_until, pool.find(first.id).held_until
  end

  def test_sticky_sessions_and_random_items
    pool = pool(policy: :sticky)
    pool.lease
    assert_equal 2, pool.lease(session: "ann").item
    later(61)
    assert_equal 2, pool.lease(session: "ann").item
    random = pool(1..100, policy: :random)
    refute_equal (1..100).to_a, random.lease_all(100).map(&:item)
  end

  def test_bad_input_says_what_is_wrong
    { { items: [1, 1] } => "invalid_item", { items: [-1] } => "invalid_item", { items: [2**62] } => "invalid_item",
      { items: 1..200_000 } => "invalid_item", { hold: 0 } => "invalid_terms", { hold: "1" } => "invalid_terms",
      { hold: Float::NAN } => "invalid_terms", { hold: 1e12 } => "invalid_terms",
      { quarantine: -1 } => "invalid_terms", { policy: :best } => "invalid_terms",
      { name: "x" * 256 } => "invalid_name" }.each do |settings, code|
      settings = { items: [1], hold: 60 }.merge(settings)
      error = assert_raises(Elah::LeasePool::Error, settings.inspect) { pool(settings.delete(:items), **settings) }
      assert_equal code, error.code, error.message
    end
    [["1"], [1.0], [nil]].each { |items| assert_raises(TypeError) { pool(items) } }
    assert_raises(TypeError) { pool(rows: 7) }
    assert_raises(Elah::LeasePool::InvalidItem) { pool(1..) }
  end

  def test_bad_requests_say_what_is_wrong
    pool = pool()
    assert_equal "invalid_session",
                 assert_raises(Elah::LeasePool::InvalidSession) { pool.lease(session: "x" * 256) }.code
    assert_equal "invalid_data", assert_raises(Elah::LeasePool::InvalidData) { pool.lease(data: "x" * 65_537) }.code
    assert_equal "invalid_item", assert_raises(Elah::LeasePool::InvalidItem) { pool.lease(item: -1) }.code
    assert_raises(TypeError) { pool.lease(session: :ann) }
    assert_raises(TypeError) { pool.lease(item: "1") }
    assert_raises(TypeError) { pool.lease(data: nil) }
    assert_equal 3, pool.statistics.free
  end

  def test_a_number_that_no_item_can_have
    pool = pool()
    [2**62, 2**63, -(2**64)].each do |item|
      calls = [-> { pool.lease(item: item) }, -> { pool.lease_all([{ item: item }]) }, -> { pool.resize([1, item]) }]
      calls.each do |call|
        error = assert_raises(Elah::LeasePool::InvalidItem, &call)
        assert_equal "An item is a number from 0 to #{(2**62) - 1}, not #{item.inspect}.", error.message
      end
    end
    assert_raises(TypeError) { pool.lease(item: 1.0) }
    assert_raises(TypeError) { pool.lease_all([{ item: 1r }]) }
    assert_equal [1, 2, 3], pool.items
  end

  # The pool waited until the clock was there again.
  def test_a_clock_that_jumps_ahead_and_back
    [3600 * 24 * SECOND, 2**62].each do |jump|
      pool = pool(hold: 60, quarantine: 10)
      pool.lease_all(3)
      @clock.now += jump
      assert_equal 3, pool.lease_all(3).compact.size, "all holds are over"
      @clock.now -= jump
      assert_nil pool.lease
      later(59)
      assert_nil pool.lease
      later(12)
      assert_equal [1, 2, 3], pool.lease_all(3).map(&:item)
    end
  end

  def test_a_clock_that_goes_back_a_little_ends_no_hold_early
    pool = pool([1])
    assert pool.lease
    later(-59)
    assert_nil pool.lease
    later(118)
    assert_nil pool.lease
    later(2)
    assert pool.lease
  end

  def test_requests_and_results_under_gc_stress
    pool = pool(1..20)
    exercise(pool)
    GC.stress = true
    exercise(pool)
  ensure
    GC.stress = false
  end

  def exercise(pool)
    leases = pool.lease_all([{ session: "a#{pool.leases}", data: "x" * 50 }, { session: "b#{pool.leases}" }, {}])
    assert_equal 3, leases.compact.size
    pool.lease_all_json([{ session: "c#{pool.leases}" }])
    leases.each { |lease| assert_equal lease, pool.find(lease.id).tap { |found| found.is_new = true } }
    leases.each { |lease| pool.release(lease.id) }
    pool.statistics
  end

  # A pool that anyone can see is right, for one policy: what was lent to whom until when.
  def test_random_histories_against_a_model
    random = Random.new(seed = Random.new_seed % (2**32))
    pool = pool(1..5, hold: 10)
    model = {}
    400.times do
      later(random.rand(1..4)) # no two steps have the same time
      case random.rand(4)
      when 0, 1 then lend(pool, model)
      when 2 then end_one(pool, model, random)
      else prolong_one(pool, model, random)
      end
      assert_equal model.count { |_, due| due > @clock.now }, pool.statistics.held, "seed #{seed}"
    end
  end

  def lend(pool, model)
    lease = pool.lease
    held = model.select { |_, due| due > @clock.now }.keys.map { |id| id.split("-").first.to_i }
    return assert_equal [1, 2, 3, 4, 5], held.sort unless lease

    refute_includes held, lease.item
    model[lease.id] = lease.held_until
  end

  def end_one(pool, model, random)
    id = model.keys.sample(random: random) or return
    assert_equal model.delete(id) > @clock.now, !pool.release(id).nil?
  end

  def prolong_one(pool, model, random)
    id = model.keys.sample(random: random) or return
    renewed = pool.renew(id)
    assert_equal model[id] > @clock.now, !renewed.nil?
    model[id] = renewed.held_until if renewed
  end
end
