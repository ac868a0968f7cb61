# frozen_string_literal: true

require "test_helper"
require "elah"
require "support/fuzz"
require "support/store_case"

# Random histories of a stored lease pool against a model that looks at every item. In between the pool is opened again,
# by this process or by one that takes it over, or a call fails because the store is closed.
class LeasePoolFuzz < StoreCase
  SECOND = 1_000_000
  START = 1_700_000_000 * SECOND
  NAMES = ["", "a", "größe", "x" * 255].freeze
  SESSIONS = [nil, "ann", "bob", "größe", "\xFF\x00".b, "s" * 255].freeze
  Clock = Struct.new(:now)

  # An item of the model. state: :free, :held or :quarantined · due: when the hold or the quarantine ends
  Item = Struct.new(:state, :due, :id, :session, :data, :begun, :leaves)

  def test_histories_of_a_stored_pool
    Fuzz.run(self) do |random|
      @random = random
      begin_history
      random.rand(1..120).times { step }
      check
      reopen
      check
    end
  end

  private

  def begin_history
    @table = "pools-#{@random.rand(2**60)}"
    @name = pick(NAMES)
    @clock = Clock.new(START)
    @terms = { hold: pick([0.5, 5, 60]), quarantine: pick([0, 0, 3]), policy: pick(Elah::LeasePool::POLICIES) }
    @items = {}
    @ids = ["9-999", "no id"]
    @last = 0
    @list = list
    @draining = false
    @pool = open_pool
    @list.each { |number| @items[number] = Item.new(:free) }
  end

  def step
    @clock.now += pick([10, 10, SECOND / 10, SECOND, 7 * SECOND])
    case @random.rand(20)
    when 0..7 then lease
    when 8 then lease_many
    when 9, 10 then renew(pick(@ids))
    when 11, 12 then release(pick(@ids))
    when 13 then resize
    when 14 then change
    when 15 then drain
    when 16 then reopen
    when 17 then take_over
    else check
    end
  end

  def pick(list) = list.sample(random: @random)
  def list = (1..8).select { @random.rand(4).positive? }

  def open_pool
    settings = { clock: @clock, name: @name, draining: @draining, history: 10**6, **@terms }
    Elah::LeasePool.open(@store, @table, @list, **settings)
  end

  def advance
    now = @last = [@clock.now, @last].max
    @items.each_value do |item|
      if item.state == :held && item.due <= now
        item.state = @terms[:quarantine].positive? ? :quarantined : :free
        item.due += quarantine
      end
      item.state = :free if item.state == :quarantined && item.due <= now
    end
    @items.delete_if { |_, item| item.state == :free && item.leaves }
  end

  def quarantine = @terms[:quarantine] * SECOND
  def free = @items.select { |_, item| item.state == :free }.keys
  def held = @items.select { |_, item| item.state == :held }
  def holder_of(session) = session && held.values.find { |item| item.session == session.b }

  def lease
    item = @random.rand(9) if @random.rand(4).zero?
    request = { session: pick(SESSIONS), item: item, data: pick(["", "x", "d" * 300]) }
    lent(request, @pool.lease(**request))
  end

  def lease_many
    requests = Array.new(@random.rand(4)) { { session: pick(SESSIONS), data: "many" } }
    requests.zip(@pool.lease_all(requests)) { |request, lease| lent(request, lease) }
  end

  def lent(request, lease)
    tick
    before = holder_of(request[:session])
    return assert_equal([before.id, false], [lease&.id, lease&.new?]) if before

    allowed = @draining ? [] : free
    allowed &= [request[:item]] if request[:item]
    return assert_empty(allowed, "an item is free") unless lease

    assert_includes allowed, lease.item
    assert_equal [true, @terms[:hold] * SECOND], [lease.new?, lease.held_until - lease.begun_at]
    refute_includes @ids, lease.id
    @ids << lease.id
    session = request[:session]&.b
    @items[lease.item] = Item.new(:held, lease.held_until, lease.id, session, request[:data], lease.begun_at)
  end

  # Each step is later than the one before, also within a batch.
  def tick
    @last = [@clock.now, @last + 1].max
    advance
  end

  def renew(id)
    renewed = @pool.renew(id)
    tick
    item = held.values.find { |each| each.id == id }
    return assert_nil(renewed, id) unless item

    due = @last + (@terms[:hold] * SECOND)
    item.due = due if due > item.due && !item.leaves
    assert_equal item.due, renewed&.held_until
  end

  def release(id)
    released = @pool.release(id)
    tick
    item = held.values.find { |each| each.id == id }
    return assert_nil(released, id) unless item

    assert_equal id, released&.id
    item.due = @last
    advance
  end

  def resize
    gone = @pool.resize(@list = list)
    tick
    left = @items.except(*@list)
    assert_equal left.transform_values { |item| gone_at(item) }, gone
    left.each_value { |item| item.leaves = true }
    @list.each { |number| (@items[number] ||= Item.new(:free)).leaves = false }
    advance
  end

  def gone_at(item)
    { free: @last, held: item.due.to_i + quarantine, quarantined: item.due }.fetch(item.state)
  end

  def change
    terms = { hold: pick([0.5, 5, 60]), quarantine: pick([0, 3]), policy: pick(Elah::LeasePool::POLICIES) }
    @pool.change(**terms)
    tick if terms != @terms
    @terms = terms
  end

  def drain
    @draining = !@draining
    @draining ? @pool.drain : @pool.resume
    tick
  end

  def reopen
    @store.close
    assert_raises(Elah::Store::Closed) { @pool.lease }
    @store = Elah::Store.open(@dir, bytes_max: 64 * 1024**2)
    @pool = open_pool
    advance
  end

  def take_over
    before = @pool
    @pool = open_pool
    assert_raises(Elah::Store::OpenedElsewhere) { before.lease }
    advance
  end

  def check
    statistics = @pool.statistics
    advance
    counts = %i[free held quarantined].map { |state| @items.values.count { |item| item.state == state } }
    assert_equal counts, [statistics.free, statistics.held, statistics.quarantined]
    assert_equal @list.sort, @pool.items.sort
    known = held.values.to_h { |item| [item.id, item.due] }
    assert_equal known, @ids.to_h { |id| [id, @pool.find(id)&.held_until] }.compact
    held.each { |number, item| look_back(number, item) }
  end

  def look_back(number, item)
    holder = @pool.holder(number, at: item.begun)
    assert_equal [item.id, item.session, item.data.b], [holder&.id, holder&.session&.b, holder&.data&.b]
  end
end
