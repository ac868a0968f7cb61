# frozen_string_literal: true

# The tests of entities once more, on the database of a cluster: they return the same as in a folder.
require "test_helper"
require "stringio"
require "support/patience"
require "support/servers"
%w[entity entity/bounds entity/copies entity/gather entity/key_encoding entity/memory entity/turns].each do |name|
  require "unit/#{name}_test"
end
Minitest::Runnable.reset # in a folder they run by their own files

# The entities of a test in a database of its own.
module EntitiesOnCluster
  # What a store in a folder does that no database does.
  EXCEPT = {
    "EntityTest" => %w[
      test_a_class_needs_a_name_that_no_other_has test_what_was_answered_is_there_when_the_process_comes_back
      test_classes_share_a_store
    ], # a folder
    "EntityBoundsTest" => %w[
      test_a_full_store_refuses_and_takes_calls_again_when_there_is_room
      test_calls_that_build_on_what_was_not_stored_fail_with_it
      test_a_refusal_that_builds_on_what_was_not_stored_fails_with_it
    ], # a file of bounded size
    "EntityGatherTest" => %w[
      test_an_end_for_which_a_method_raises_another_error_ends_many_calls
    ], # the calls of a `call_many` run in fibers of their own, which end with it
    "EntityMemoryTest" => %w[
      test_a_graceful_end_stores_everything test_what_could_not_be_stored_is_reported
      test_what_lingers_waits_for_others_for_who_reads_it_and_for_the_end
      test_a_fork_leaves_its_parents_entities_alone
    ] # a folder; a file of bounded size; the database gets everything at once; a fork may not take what its parent owns
  }.freeze

  include Patience

  # The process owns the shards before the test begins: until then calls wait, each for itself.
  def setup
    super
    wait_until("the shards are owned") { owned? }
    EntityCase::Account::LIVES.clear
  end

  def owned?
    @accounts["nobody"].balance
  rescue Elah::Entity::Moving
    false
  end

  def open_store
    server = Servers::PostgreSQL.shared
    admin = Elah::SQL.new(server.url, connections_max: 1)
    admin.execute("CREATE DATABASE #{name = "entities_#{object_id}"}")
    admin.close
    @url = server.url.sub(/\w+\z/, name)
    open_again
  end

  def open_again = Elah::Store.open(@url)
end

[EntityTest, EntityBoundsTest, EntityCopiesTest, EntityGatherTest, EntityKeyEncodingTest, EntityMemoryTest,
 EntityTurnsTest].each do |tests|
  on_cluster = Class.new(tests) do
    include EntitiesOnCluster
    EntitiesOnCluster::EXCEPT[tests.name].to_a.each { |test| undef_method(test) }
  end
  EntitiesOnCluster.const_set("#{tests}OnCluster", on_cluster)
end

# Timers, jobs and idempotent calls by the clock of the database.
class EntityTimersOnClusterTest < EntityCase
  include EntitiesOnCluster

  # Tells when its timer has fired.
  class Alarm < Elah::Entity
    entity_name "alarms"

    FIRED = Queue.new
    FAILS = []

    attr_reader :count

    def restore = @count = state.get("count").to_i
    def set(time) = wake_at(time)

    def add
      state.put("count", (@count += 1).to_s)
      @count
    end

    def woken
      add
      FIRED << key
      raise "failed" if FAILS.pop
    end
  end

  def setup
    super
    Alarm::FIRED.clear
    Elah::Log.current = Elah::Log.new(out: StringIO.new)
    @alarms = Alarm.in(@store)
  end

  def teardown
    Elah::Log.current = nil
    super
  end

  def fired(count) = Array.new(count) { Alarm::FIRED.pop }

  def test_timers_fire_once_and_are_removed
    Elah.run do
      50.times { |n| @alarms[n].set(@store.now + 0.2) }
      assert_equal Array.new(50, &:to_s).sort, fired(50).sort
      assert_equal [1], Array.new(50) { |n| @alarms[n].count }.uniq
      assert_empty @store.table("entity-timers:alarms").range
    end
  end

  def test_a_timer_that_fails_fires_again
    Alarm::FAILS << true
    Elah.run do
      @alarms["1"].set(@store.now)
      assert_equal %w[1 1], fired(2)
      assert_equal 1, @alarms["1"].count
    end
  end

  # A shard whose timers could not be read once was not looked at again.
  def test_timers_fire_when_the_database_reads_again
    lines = Queue.new
    lines.define_singleton_method(:write) { |line| push(line) }
    Elah::Log.current = Elah::Log.new(out: lines)
    database = Elah::SQL.new(@url, connections_max: 1)
    Elah.run do
      # The busier the machine, the later they must be to find no rows.
      assert([0.5, 5, 50].any? { |seconds| away_before_timers?(database, seconds) })
      nil until lines.pop.include?("Timers of alarms cannot fire")
      database.execute("ALTER TABLE elah_rows_away RENAME TO elah_rows")
      assert_equal 500, fired(500).uniq.size
    end
  ensure
    database.close
  end

  # @return [Boolean] whether the rows are away before timers of all shards fire
  def away_before_timers?(database, seconds)
    at = @store.now + seconds
    @alarms.call_many(Array.new(500) { |n| [n.to_s, :set, at] })
    database.execute("ALTER TABLE elah_rows RENAME TO elah_rows_away")
    return true if Alarm::FIRED.empty?

    database.execute("ALTER TABLE elah_rows_away RENAME TO elah_rows")
    fired(500).empty?
  end

  def test_a_job_runs_again_and_again
    runs = Queue.new
    Elah.run do
      Elah.every(0.1, once: "job", store: @store) { runs << true }
      3.times { assert runs.pop }
    end
  end

  # The writer asks for the numbers of its tables on each connection, and the process read by those that it remembered:
  # after a failover repeated calls ran again, and timers were not found.
  def test_results_and_timers_are_found_after_a_failover_that_has_lost_their_tables
    Elah.run do
      @alarms["1"].once("before").add
      @alarms["early"].set(@store.now)
      fired(1)
      lose_tables
      count = @alarms["1"].once("after").add
      assert_equal count, @alarms["1"].once("after").add
      @alarms["late"].set(@store.now)
      Elah.timeout(patience_seconds) { nil until Alarm::FIRED.pop == "late" }
    end
  end

  # As a standby does that takes over without the last transactions.
  def lose_tables
    database = Elah::SQL.new(@url, connections_max: 1)
    lost = "SELECT tbl FROM elah_tables WHERE name LIKE 'entity-%'"
    database.execute("DELETE FROM elah_rows WHERE tbl IN (#{lost})")
    database.execute("DELETE FROM elah_tables WHERE tbl IN (#{lost})")
    database.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity " \
                  "WHERE datname = current_database() AND application_name = 'elah writer'")
  ensure
    database&.close
  end

  # The writer keeps its connection, and wrote by the numbers from before: nobody read what it stored.
  def test_entities_are_stored_under_their_name_after_a_restored_dump_that_has_lost_it
    database = Elah::SQL.new(@url, connections_max: 1)
    @alarms["1"].add
    database.transaction do |transaction|
      transaction.execute("DELETE FROM elah_rows")
      transaction.execute("DELETE FROM elah_tables")
      transaction.execute("UPDATE elah_writers SET sequence = 0")
    end
    wait_until("it goes on with what is stored") { added_again? }
    stored = "SELECT count(*) FROM elah_rows JOIN elah_tables USING (tbl) WHERE name = 'entity:alarms'"
    assert_operator database.value(stored), :>, 0
  ensure
    database.close
  end

  def added_again?
    @alarms["1"].add == 1
  rescue Elah::Store::Unavailable, Elah::Entity::Moving
    false
  end

  # Only the use of a table started the thread that does both.
  def test_a_process_that_uses_entities_alone_removes_expired_rows_and_finds_the_database_again
    database = Elah::SQL.new(@url, connections_max: 1)
    @alarms["1"].once("key", ttl: 0.1).add
    database.execute("ALTER TABLE elah_rows RENAME TO elah_rows_away")
    assert_raises(Elah::Store::Failed) { @store.sweep }
    wait_until("it is in trouble") { Elah::Store.troubles.key?(@store.dir) }
    database.execute("ALTER TABLE elah_rows_away RENAME TO elah_rows")
    wait_until("it accepts writes") { !Elah::Store.troubles.key?(@store.dir) }
    wait_until("the result is removed") { database.value("SELECT count(expires_at) FROM elah_rows").zero? }
  ensure
    database.close
  end

  def test_a_repeated_call_returns_the_stored_result
    2.times { assert_equal 1, @alarms["1"].once("key", ttl: 3600).add }
    @alarms.reset
    assert_equal 1, @alarms["1"].once("key", ttl: 3600).add
    assert_raises(Elah::Entity::IdempotencyKeyReused) { @alarms["1"].once("key").set(nil) }
  end
end

# A process whose clock stood still while another one took its entities and changed them. It does not know: its lease is
# a minute.
class EntityReadsOnClusterTest < EntityCase
  include EntitiesOnCluster

  # Its reads ask the database.
  class Checked < EntityCase::Account
    entity_name "checked"
    reads :checked
  end

  def setup
    Elah.config = Elah::Config.build(lease_seconds: 60)
    super
    @checked = Checked.in(@store)
    [@accounts, @checked].each { |accounts| accounts["1"].deposit(10) }
    @database = Elah::SQL.new(@url, connections_max: 1)
  end

  def teardown
    @database.close
    super
    Elah.config = nil
  end

  # With its next sign of life, which is 12 s away then, the process would learn of it.
  def test_a_leased_read_returns_what_was_and_a_checked_one_what_is
    before = sequence
    wait_until("a sign of life") { sequence != before }
    take_over
    assert_equal [10, 7, 7], Elah.run { [@accounts, @checked, @accounts].map { |accounts| accounts["1"].balance } }
  end

  def test_many_checked_calls_and_a_refusal_are_called_again
    take_over
    replies = Elah.run { @checked.call_many([["1", :balance], ["1", :withdraw, 2], ["1", :withdraw, 6]]) }
    assert_equal [7, 5, "The balance is 5."], replies.map { |reply| reply.is_a?(Integer) ? reply : reply.message }
  end

  def test_a_refusal_is_checked
    take_over
    refusal = assert_raises(EntityCase::Account::Poor) { Elah.run { @checked["1"].withdraw(11) } }
    assert_equal "The balance is 7.", refusal.message
  end

  def test_a_checked_call_waits_for_the_database_and_a_leased_one_does_not
    before = sequence
    assert_equal 10, @accounts["1"].balance
    assert_equal before, sequence
    assert_equal 10, @checked["1"].balance
    assert_equal before + 1, sequence
  end

  def test_memory_cannot_be_checked
    memory = Class.new(Checked) { durability :memory }
    assert_match(/reads :checked needs durability :disk/, assert_raises(ArgumentError) { memory.in(@store) }.message)
    assert_raises(ArgumentError) { Class.new(Elah::Entity) { reads :always } }
  end

  private

  def sequence = @database.value("SELECT sequence FROM elah_writers")

  # What another process does that has taken over.
  def take_over
    @database.transaction do |transaction|
      transaction.execute("UPDATE elah_writers SET fenced = true")
      transaction.execute("UPDATE elah_shards SET epoch = epoch + 1, writer = 1")
      transaction.execute("UPDATE elah_rows SET value = '7' WHERE encode(key, 'escape') LIKE '%balance'")
    end
  end
end

# What is so on a cluster alone.
class EntityOnClusterTest < EntityCase
  include EntitiesOnCluster

  def test_a_process_without_a_loop_is_told_how_to_call_what_another_owns
    @accounts["1"].deposit(3)
    reader, writer = IO.pipe
    child = fork do
      @accounts["1"].deposit(1)
    rescue Elah::OutsideLoop => e
      writer.write(e.message)
    ensure
      exit!(0)
    end
    writer.close
    Process.wait(child)
    assert_match(/\AAnother process owns shard \d+ of EntityCase::Account, .* use Elah\.run/, reader.read)
    assert_equal 3, @accounts["1"].balance
  end
end
