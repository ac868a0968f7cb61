# frozen_string_literal: true

require "test_helper"
require "support/entity_case"
require "support/patience"

# Lease pools that are kept: in a table, and in an entity.
class LeasePoolStoredTest < EntityCase
  include Patience

  SECOND = 1_000_000
  Clock = Struct.new(:now)

  # A pool in an entity.
  class Show < Elah::Entity
    entity_name "shows"
    index :seats

    class << self
      attr_accessor :clock
    end

    def restore
      settings = { rows: index(:seats), name: key, clock: self.class.clock, history: 3600 }
      @seats = Elah::LeasePool.new(1..3, hold: 60, **settings)
    end

    def hold(session, data = "") = @seats.lease(session: session, data: data)&.to_h

    def hold_and_fail(session)
      hold(session)
      raise "broken"
    end

    def release(id) = @seats.release(id)&.id
    def statistics = @seats.statistics.to_h
  end

  def setup
    super
    @clock = Show.clock = Clock.new(1_700_000_000 * SECOND)
  end

  def open(items = 1..3, **settings)
    Elah::LeasePool.open(@store, "pools", items, hold: 60, clock: @clock, name: "a", **settings)
  end

  def reopened(*items, **settings)
    @store.close
    @store = Elah::Store.open(@dir, bytes_max: 64 * 1024**2)
    open(*items, **settings)
  end

  # The store refuses the first writes, each once its gate is open.
  def failing(count = 1)
    transaction = @store.method(:transaction)
    closed = (gates = Array.new(count) { Thread::Queue.new }).dup
    @store.define_singleton_method(:transaction) do |&block|
      next transaction.call(&block) unless (gate = closed.shift)

      gate.pop
      raise Elah::Store::Busy, "busy"
    end
    yield(*gates)
  ensure
    @store.singleton_class.remove_method(:transaction)
  end

  # Calls that have begun when the gate opens.
  def beside(gate, *calls)
    Elah.run do
      fibers = calls.map { |call| Elah.async(&call) }
      gate << nil
      fibers.map { |fiber| fiber.wait.error || fiber.value }
    end
  end

  def later(seconds) = @clock.now += (seconds * SECOND).round

  def test_a_stored_pool_is_the_same_when_it_is_opened_again
    pool = open(policy: :sticky, quarantine: 5)
    first = pool.lease(session: "ann")
    second = pool.lease(session: "bob")
    pool.release(first.id)
    later(1)
    pool.renew(second.id)
    before = pool.statistics
    pool = reopened(policy: :sticky, quarantine: 5)
    assert_equal before, pool.statistics
    assert_equal second.id, pool.find(second.id).id
    assert_nil pool.find(first.id)
    later(10)
    assert_equal 1, pool.lease(session: "ann").item
  end

  def test_many_steps_are_bounded_by_snapshots
    pool = open
    600.times do
      later(1)
      pool.release(pool.lease.id)
    end
    assert_operator @store.table("pools").size, :<, 900
    statistics = pool.statistics
    assert_equal statistics, reopened.statistics
  end

  def test_items_and_terms_become_those_of_the_call
    pool = open
    lease = pool.lease
    pool = reopened([2, 3, 4], quarantine: 7)
    assert_equal [2, 3, 4], pool.items.sort
    assert_equal 1, pool.statistics.leaving
    assert_equal lease.id, pool.find(lease.id).id
  end

  def test_who_held_an_item
    pool = open(history: 3600)
    lease = pool.lease(session: "ann", data: "row=1")
    later(30)
    pool.release(lease.id)
    holder = pool.holder(1, at: lease.begun_at)
    assert_equal [lease.id, "ann", "row=1"], [holder.id, holder.session, holder.data]
    assert_nil pool.holder(1, at: lease.begun_at - 1)
    assert_nil pool.holder(1, at: @clock.now + 1)
    assert_nil pool.holder(2, at: lease.begun_at)
    assert_nil Elah::LeasePool.holder(@store.table("pools"), 1, at: lease.begun_at, name: "b")
  end

  def test_rows_are_those_of_an_entity
    error = assert_raises(TypeError) { Elah::LeasePool.new([1], hold: 1, rows: @store.table("pools")) }
    assert_match(/must be an index of an entity/, error.message)
  end

  # Two processes each lent every item.
  def test_the_process_that_opened_the_pool_last_has_it
    first = open
    held = first.lease(session: "ann")
    second = open
    assert_equal [held.id, 2], [second.find(held.id).id, second.lease(session: "bob").item]
    calls = [[:lease], [:lease, { session: "ann" }], [:find, held.id], [:statistics], [:resize, [1]]]
    calls.each do |name, argument|
      call = -> { argument.is_a?(Hash) ? first.send(name, **argument) : first.send(name, *[argument].compact) }
      error = assert_raises(Elah::Store::OpenedElsewhere, name.to_s, &call)
      assert_equal [503, "store_unavailable"], [error.status, error.code]
    end
    assert_equal 3, second.lease.item
    assert_equal 1, open(name: "b").lease.item
  end

  # Both had the same row of their owner.
  def test_names_of_any_bytes_are_different_pools
    first = Elah::LeasePool.open(@store, "pools", [1], name: "a\0b", hold: 10)
    second = Elah::LeasePool.open(@store, "pools\0a", [1], name: "b", hold: 10)
    assert_equal [1, 1], [first.lease.item, second.lease.item]
  end

  # Its write of the owner went on after the right had been given back, and nobody had the pool.
  def test_an_opening_that_is_cancelled_takes_the_pool_from_nobody
    pool = open
    Elah.run do
      opening = Elah.async { open }
      Elah.async { opening.cancel }
      assert_instance_of Elah::Cancelled, opening.wait.error
    end
    @store.flush
    assert_equal 1, pool.lease.item
  end

  def test_a_fork_does_not_lend_what_its_parent_lends
    pool = open
    reader, writer = IO.pipe
    Process.wait(fork { exit!(pool.lease.item) rescue writer.puts($!.class, $!.message) && exit!(0) })
    assert_equal ["Elah::Store::OpenedElsewhere\n", true], [reader.gets, reader.gets.include?("before_worker_boot")]
    assert_equal 1, pool.lease.item
  ensure
    [reader, writer].each(&:close)
  end

  # One transaction has 100,000 operations at most. A pool of 50,000 items, with its snapshot and the rows that this
  # replaces, failed for good.
  def test_a_pool_of_the_largest_size_lends_all_items_in_one_call
    count = Elah::LeasePool::ITEMS_MAX
    Dir.mktmpdir do |dir|
      store = -> { Elah::Store.open(dir, bytes_max: 512 * 1024**2) }
      open = -> { Elah::LeasePool.open(store.call, "pools", 1..count, hold: 60, clock: @clock, history: 60) }
      pool = open.call
      3.times do
        assert_equal count, pool.lease_all(count).compact.size
        later(61)
      end
      last = pool.lease
      store.call.close
      assert_equal [last.id, 1], open.call.then { |again| [again.find(last.id).id, again.statistics.held] }
    ensure
      store.call.close
    end
  end

  def test_calls_at_once_share_the_pool
    pool = open(1..50)
    leases = Elah.run { Array.new(60) { |n| Elah.async { pool.lease(session: "s#{n % 40}") } }.map(&:value) }
    assert_equal 40, leases.map(&:item).uniq.size
    assert_equal 40, reopened(1..50).statistics.held
  end

  # Each of them stored the whole pool, 4 MB for a large one, while any other write was under way.
  def test_calls_that_change_nothing_wait_for_the_write_of_the_lease_that_they_return
    pool = open(1..40)
    transaction = @store.method(:transaction)
    count = 0
    @store.define_singleton_method(:transaction) { |&block| transaction.call(&block).tap { count += 1 } }
    ids = Elah.run { Array.new(60) { |n| Elah.async { pool.lease(session: "s#{n % 3}").id } }.map(&:value) }
    assert_equal [3, 3], [ids.uniq.size, count]
    @store.singleton_class.remove_method(:transaction)
    assert_equal 3, reopened(1..40).statistics.held
  end

  def test_a_call_that_returns_the_lease_of_a_write_that_failed_stores_it
    pool = open
    outcomes = failing { |gate| beside(gate, *[-> { pool.lease(session: "ann") }] * 2) }
    assert_equal [Elah::Store::Busy, "1-1"], [outcomes[0].class, outcomes[1].id]
    assert_equal "ann", reopened.find("1-1").session
  end

  # It returned the lease when the first write had failed, although the second had begun to store it, and failed too.
  def test_a_call_that_returns_the_lease_of_a_second_write_that_failed_stores_it
    pool = open
    outcomes = failing(2) do |gate, second|
      retried = Thread::Queue.new
      lease = -> { pool.lease(session: "ann") }
      twice = -> { lease.call rescue (retried << nil) && lease.call }
      beside(gate, -> { retried.pop || (second << nil) }, twice, lease)
    end
    assert_equal [Elah::Store::Busy, "1-1"], [outcomes[1].class, outcomes[2].id]
    assert_equal "ann", reopened.find("1-1").session
  end

  # It stored its own leases only.
  def test_a_list_with_the_lease_of_a_write_that_failed_stores_it
    pool = open
    list = -> { pool.lease_all([{ session: "ann" }, { session: "bob" }]) }
    outcomes = failing { |gate| beside(gate, -> { pool.lease(session: "ann") }, list) }
    assert_equal [Elah::Store::Busy, %w[1-1 2-2]], [outcomes[0].class, outcomes[1].map(&:id)]
    assert_equal 2, reopened.statistics.held
  end

  # The pool could not be opened any more: "it lends an item that the pool does not have".
  def test_a_lease_outlives_the_list_that_was_not_stored
    pool = open(1..2)
    failing { |gate| beside(gate, -> { pool.resize(1..9) }, -> { pool.lease(item: 7, session: "ann") }) }
    again = reopened(1..2)
    assert_equal ["ann", [1, 2]], [again.find("7-1").session, again.items]
    again.release("7-1")
    assert_equal [1, 2], Array.new(2) { again.lease.item }
    assert_nil again.lease
  end

  # Its write was never ended, and each call of a session that held an item waited for that.
  def test_a_call_that_another_thread_ends_between_its_change_and_its_write_holds_up_nobody
    pool = open
    lock = pool.instance_variable_get(:@mutex)
    pool.instance_variable_set(:@mutex, lock.dup.tap do |late|
      late.define_singleton_method(:synchronize) { |&change| lock.synchronize(&change) && raise(Timeout::Error) }
    end)
    assert_raises(Timeout::Error) { pool.lease(session: "ann") }
    pool.instance_variable_set(:@mutex, lock)
    id = Timeout.timeout(patience_seconds) { pool.lease(session: "ann").id }
    assert_equal id, reopened.lease(session: "ann").id
  end

  # A call of a session that holds its item waited for the write that had failed, for ever.
  def test_a_pool_whose_rows_cannot_be_read_goes_on_afterwards
    pool = open
    pool.lease(session: "ann")
    native = pool.instance_variable_get(:@pool)
    native.define_singleton_method(:keep) { raise Elah::Store::Busy, "busy" }
    failing { |gate| assert_raises(Elah::Store::Busy) { (gate << nil) && pool.lease } }
    assert_raises(Elah::Store::Busy) { pool.lease(session: "ann") }
    native.singleton_class.remove_method(:keep)
    assert_equal "1-1", pool.lease(session: "ann").id
    assert_equal 2, reopened.statistics.held
  end

  def test_a_damaged_row_is_told
    open.lease
    table = @store.table("pools")
    key, value = table.range.last
    table.put(key, value.byteslice(0, 5))
    error = assert_raises(Elah::LeasePool::InvalidRow) { reopened }
    assert_equal "invalid_row", error.code
  end

  def test_a_closed_store_refuses_and_an_open_one_goes_on
    pool = open
    held = pool.lease
    @store.close
    assert_raises(Elah::Store::Closed) { pool.lease }
    assert_equal [held.id], reopened.then { |again| [again.find(held.id).id] }
  end

  def test_an_entity_keeps_its_pool
    shows = Show.in(@store)
    lease = shows["hamlet"].hold("ann", "x=1")
    assert_equal 1, lease[:item]
    assert_equal 1, shows["othello"].hold("ann")[:item]
    shows.flush
    shows.reset
    assert_equal lease.merge(is_new: false), shows["hamlet"].hold("ann")
    assert_equal 2, shows["hamlet"].hold("bob")[:item]
    holder = Elah::LeasePool.holder(shows.index(:seats), 1, at: lease[:begun_at], name: "hamlet")
    assert_equal ["ann", "x=1"], [holder.session, holder.data]
  end

  def test_a_call_that_fails_has_lent_nothing
    shows = Show.in(@store)
    assert_raises(RuntimeError) { shows["hamlet"].hold_and_fail("ann") }
    assert_equal 0, shows["hamlet"].statistics[:held]
    assert_equal 1, shows["hamlet"].hold("bob")[:item]
  end
end
