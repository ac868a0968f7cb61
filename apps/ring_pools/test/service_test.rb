# frozen_string_literal: true

require_relative "../../../test/test_helper"
require "elah/api"
require "tmpdir"
require_relative "../api"

# Pools, their history and who has which number, on a store and with a clock that the test moves.
class ServiceTest < Minitest::Test
  SECOND = 1_000_000
  DAY = 86_400
  NUMBERS = %w[+12025550001 +12025550002 +12025550003].freeze

  # What a test sets.
  Clock = Struct.new(:now) do
    def offset = 0.0
  end

  def setup
    @dir = Dir.mktmpdir("ring-pools")
    @store = Elah::Store.open(@dir)
    @service = RingPools.service = RingPools::Service.new(@store, durability: :memory, history_seconds: DAY)
    @clock = RingPools::RingPool.clock = Clock.new(1_700_000_000 * SECOND)
    @service.instance_variable_set(:@clock, @clock)
  end

  def teardown
    Elah::Entity::Collection.flush_all
    @store.close
    FileUtils.remove_entry(@dir)
  end

  def later(seconds) = @clock.now += (seconds * SECOND).round

  def create(**fields)
    @service.create({ "numbers" => NUMBERS, "overflow_number" => "+18885550000", "lifetime_seconds" => 60,
                      **fields.transform_keys(&:to_s) }).first
  end

  def allocate(definition, session = nil, parameters = "a=1")
    @service.allocate(@service.directory[definition.id], session, parameters)
  end

  # @return [Array<Integer, nil>] the last digits of the numbers of a bulk request, nil for an overflow
  def bulk(pool, parameters)
    path = "#{pool.id}/allocate_number.json?ring_pool_key=#{pool.api_key}"
    body = Elah::JSON.generate({ requests: parameters.map { |text| { api_suffix: "#{path}&#{text}" } } })
    request = RingPools::BulkRequest.new(@service, RingPools::BulkRequest.rows(body), nil)
    Elah::JSON.parse(request.response)["responses"].map { |row| row["overflow"] ? nil : row["promo_number"][-1].to_i }
  end

  def who(number) = @service.holder(number, @clock.now)&.last&.session

  # On a cluster a read waits: what was read before a change was cached as what is after it.
  def test_a_definition_that_changes_while_it_is_read_is_not_cached
    pool = create
    directory = RingPools::Directory.new(@store)
    directory.refresh
    directory.instance_variable_get(:@definitions).define_singleton_method(:get) do |key|
      super(key).tap do
        singleton_class.remove_method(:get)
        RingPools.service.update(pool.id, { "lifetime_seconds" => 90 })
        directory.refresh
      end
    end
    assert_equal 60, directory[pool.id].definition.lifetime_seconds
    assert_equal 90, directory[pool.id].definition.lifetime_seconds
  end

  def test_who_had_a_number_at_any_time
    pool = create
    times = Array.new(700) do |index|
      later(25)
      [@clock.now, allocate(pool, "s#{index}")[:number]]
    end
    times.each_with_index.to_a.sample(40).each do |(at, number), index|
      assert_equal "s#{index}", @service.holder(number, at).last.session
      assert_equal "s#{index}", @service.holder(number, at + 59 * SECOND).last.session
    end
    assert_nil @service.holder(times[0][1], times[0][0] - 1).last
  end

  def test_rows_older_than_the_history_are_deleted
    pool = create
    first = allocate(pool, "old")
    later(1)
    at = @clock.now
    1000.times do |index|
      later(600)
      @service.pools.flush if (index % 200).zero? # a pool purges what is stored by then
      allocate(pool)
    end
    @service.pools.flush
    assert_nil @service.holder(first[:number], at).last
    assert_operator @service.pools.index(:leases).size, :<, DAY / 600 + 600
    number = allocate(pool, "new")[:number]
    later(1)
    assert_equal "new", who(number)
  end

  # An ordinary pool, and one that looks for a session that no row has.
  def test_rows_of_bulk_requests_are_alike_whether_the_pool_looks_for_sessions
    plain, seeking = [[0, nil], [3, "gclid"]].map do |from, parameter|
      create(numbers: Array.new(3) { |index| "+1202555000#{from + index}" }, session_parameter: parameter)
    end
    500.times do |round|
      later(round % 5 * 7)
      rows = [2, 1][round % 2].times.map { |row| "m=#{round}-#{row}" }
      answers = [plain, seeking].map { |pool| bulk(pool, rows) }
      assert_equal answers[0], answers[1].map { |number| number && (number - 3) }
    end
    reports = [plain, seeking].map { |pool| @service.pools[pool.id].report.slice(:occupancy, :allocations, :overflows) }
    assert_equal reports[0], reports[1]
    assert_equal 500 * 1.5, reports[0][:allocations] + reports[0][:overflows]
  end

  def test_a_session_after_rows_without_one_gets_its_lease
    pool = create
    assert_equal [1, 2], bulk(pool, %w[a=1 a=2])
    lease = allocate(pool, "visitor")
    assert_equal "12025550003-3", lease[:id]
    assert_equal lease.merge(kind: :same), allocate(pool, "visitor")
    assert_equal [nil], bulk(pool, ["a=3"])
    later(61)
    assert_equal [1, 2, 3, nil], bulk(pool, %w[a=4 a=5 a=6 a=7])
    assert_equal 6, @service.pools[pool.id].report[:allocations]
  end

  def test_a_number_that_went_to_another_pool_has_both_histories
    pool = create
    lease = allocate(pool, "first")
    later(1)
    at = @clock.now
    @service.update(pool.id, { "numbers" => NUMBERS.last(2) })
    assert_raises(RingPools::Conflict) { create(numbers: [NUMBERS.first, "+12025550009"]) }
    later(61)
    other = create(numbers: [NUMBERS.first, "+12025550009"])
    later(1)
    assert_equal lease[:number], allocate(other, "second")[:number]
    later(1)
    assert_equal [pool.id, "first"],
                 @service.holder(lease[:number], at).then { |id, holder| [id, holder.session] }
    assert_equal [other.id, "second"],
                 @service.holder(lease[:number], @clock.now).then { |id, holder| [id, holder.session] }
  end

  # The process was killed after it had stored the definition, before it notified the pool.
  def test_a_pool_catches_up_with_its_definition
    definition, = @service.directory.create({}, now: @clock.now) do |id|
      RingPools::Definition.create({ "numbers" => NUMBERS, "allow_overflow" => false }, id: id)
    end
    assert_equal NUMBERS.first, RingPools::E164.format(allocate(definition)[:number])
  end

  def test_a_late_change_does_not_undo_a_later_one
    pool = create
    @service.update(pool.id, { "numbers" => NUMBERS.first(2) })
    assert_empty @service.pools[pool.id].change
    assert_equal 2, @service.pools[pool.id].report[:occupancy][:numbers]
  end

  # A process that was killed between the change of a pool and the end of its tenures left the numbers to nobody, for
  # ever.
  def test_numbers_that_a_killed_process_left_without_an_end_are_found
    pool = create
    lease = allocate(pool)
    held, free = pool.numbers.partition { |number| number == lease[:number] }
    kill_before(:let_go) { @service.update(pool.id, { "numbers" => ["+12025550008", "+12025550009"] }) }
    assert_equal free.sort, create(numbers: free.map { |number| RingPools::E164.format(number) }).numbers.sort
    assert_raises(RingPools::Conflict) { create(numbers: [RingPools::E164.format(held.first), "+12025550007"]) }
    later(61)
    assert_equal 2, create(numbers: [RingPools::E164.format(held.first), "+12025550007"]).numbers.size
  end

  def test_a_deletion_that_a_killed_process_left_undone_is_made_again
    pool = create
    kill_before(:delete) { @service.delete(pool) }
    assert_equal pool.numbers, @service.delete(@service.directory.fetch(pool.id)).keys
    assert_equal 3, create.numbers.size
  end

  # The pool was in no worker's memory when it was changed, so the numbers that it lost had no end, for ever.
  def test_numbers_removed_right_after_a_restart_go_to_other_pools
    pool = create
    lease = allocate(pool)
    held, free = NUMBERS.partition { |number| number == RingPools::E164.format(lease[:number]) }
    @service.pools.flush
    @service.pools.reset
    @service.update(pool.id, { "numbers" => ["+12025550008", "+12025550009"] })
    assert_equal 2, create(numbers: free).numbers.size
    assert_raises(RingPools::Conflict) { create(numbers: [*held, "+12025550007"]) }
    later(61)
    assert_equal 2, create(numbers: [*held, "+12025550007"]).numbers.size
  end

  # The number was lent to one caller while another pool gave it to everybody.
  def test_an_overflow_number_is_lent_by_no_pool
    pool = create
    other = create(numbers: ["+12025550008", "+12025550009"])
    lends = { "numbers" => ["+12025550008", "+18885550000"] }
    refused = ->(fields) { assert_raises(RingPools::Invalid) { @service.update(other.id, fields) } }
    error = refused.call({ **lends, "overflow_number" => "+18885550001" })
    assert_equal ["number_taken", "+18885550000 is the overflow number of pool 1."], [error.code, error.message]
    assert_equal "invalid_overflow_number", refused.call(lends).code
    assert_equal "number_taken", refused.call({ "overflow_number" => NUMBERS.first }).code
    assert_equal [pool.id, other.id], @service.directory.overflow_pools(18_885_550_000)
    lease = allocate(pool)
    overflow = RingPools::E164.format(lease[:number])
    swapped = { "numbers" => ["+12025550006", "+12025550007"], "overflow_number" => overflow }
    assert_raises(RingPools::Conflict) { @service.update(pool.id, swapped) }
    @service.update(pool.id, swapped.slice("numbers"))
    assert_raises(RingPools::Conflict, "a caller holds it") { @service.update(pool.id, swapped) }
    later(61)
    assert_equal lease[:number], @service.update(pool.id, swapped).overflow
  end

  # A pool that was deleted while another request gave it an overflow number kept that from all others.
  def test_a_deleted_pool_leaves_its_last_overflow_number
    pool = create
    @service.update(pool.id, { "overflow_number" => "+18885550001" })
    @service.delete(pool)
    assert_empty @service.directory.overflow_pools(18_885_550_001)
    assert_equal 2, create(numbers: ["+12025550008", "+18885550001"]).numbers.size
  end

  # JSON has no bytes that are not UTF-8, so one such row was a 500 for all rows.
  def test_a_key_that_is_not_text_fails_its_own_row
    pool = create
    queries = ["a=1", "ring_pool_key=#{pool.api_key}&a=1"]
    rows = queries.map { |query| { "api_suffix" => "#{pool.id}/allocate_number.json?#{query}" } }
    request = RingPools::BulkRequest.new(@service, rows, "\xff".b)
    assert_equal ["InvalidKey", nil], Elah::JSON.parse(request.response)["responses"].map { |row| row["error_class"] }
  end

  # As if the process had been killed there.
  def kill_before(step, &)
    @service.directory.define_singleton_method(step) { |*| raise Interrupt }
    assert_raises(Interrupt, &)
    @service.directory.singleton_class.remove_method(step)
  end

  # The process that ended the pool was killed before it deleted the definition.
  def test_an_ended_pool_lends_no_number_after_a_restart
    pool = create
    lease = allocate(pool, "a")
    @service.pools[pool.id].close
    @service.pools.flush
    @service.pools.reset
    assert_equal "draining", allocate(pool)[:reason]
    assert_equal lease[:id], @service.pools[pool.id].find(lease[:id])[:id]
    assert_equal [lease[:number]], @service.delete(pool).select { |_, gone_at| gone_at > @clock.now }.keys
  end

  def test_a_pool_in_memory_is_stored_when_the_process_ends
    pool = create(policy: "sticky", quarantine_seconds: 5)
    one = allocate(pool, "a")
    later(1)
    @service.pools[pool.id].release(one[:id])
    two = allocate(pool, "b", "m=#{'x' * 3000}&n=%C3%BC")
    before = @service.pools[pool.id].report[:occupancy]
    @service.pools.flush
    @service.pools.reset
    assert_equal before, @service.pools[pool.id].report[:occupancy]
    assert_equal two, allocate(pool, "b").merge(kind: :new)
    later(10)
    assert_equal one[:number], allocate(pool, "a")[:number], "the session is remembered"
  end
end
