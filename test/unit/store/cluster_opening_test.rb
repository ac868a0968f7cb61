# frozen_string_literal: true

# How a store on a database is opened: its tables there, its URL, and the databases and arguments that are refused.
require "test_helper"
require "support/cluster_case"

class StoreClusterOpeningTest < ClusterCase
  def test_the_url_is_shown_without_its_password
    expected = url.sub(":secret@", "@")
    assert_equal expected, @store.dir
    assert_equal "#<Elah::Store::Cluster #{expected}>", @store.inspect
    refute_match(/secret/, @store.dir + @store.inspect)
  end

  def test_the_tables_are_created_once
    fresh = fresh_url
    opened = Array.new(8) { Thread.new { Elah::Store.open(fresh, sweep_seconds: 3600) } }.map(&:value)
    assert_equal 1, opened.map(&:name).uniq.size
    opened.each(&:close)
    sql = Elah::SQL.new(fresh, connections_max: 1)
    assert_equal [[256, 0, 255]], sql.rows("SELECT count(*), min(shard), max(shard) FROM elah_shards")
    assert_equal({ "format" => 1, "shards" => 256 }, sql.first("SELECT format, shards FROM elah_cluster"))
  ensure
    sql&.close
  end

  def test_tables_of_a_later_version_are_refused
    @sql.execute("UPDATE elah_cluster SET format = 2")
    error = assert_raises(Elah::Store::CannotOpen) { open_again }
    assert_match(/have format 2, and this version of Elah knows formats up to 1: install/, error.message)
    assert_equal "The store cannot be opened.", error.detail
  ensure
    @sql.execute("UPDATE elah_cluster SET format = 1")
  end

  # The processes in its rows are those of the original: calls ran there, and changed the data of the original.
  def test_a_copy_of_a_database_begins_without_the_processes_of_the_original
    names = %w[original copy].map { |name| "#{name}_#{object_id}" }
    urls = names.map { |name| url.sub(/\w+\z/, name).sub("elah:", "owner:") }
    @sql.execute("CREATE ROLE owner LOGIN PASSWORD 'secret'")
    @sql.execute("CREATE DATABASE #{names[0]} OWNER owner")
    Elah::Store.open(urls[0], sweep_seconds: 3600).close
    ask(urls[0], "INSERT INTO elah_writers (writer, node, address, socket, version, lease_ms) " \
                 "VALUES (7, '', '', '', 1, 5000) RETURNING writer")
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = ?"
    wait_until("nobody uses it") { @sql.value(others, names[0]).zero? }
    @sql.execute("CREATE DATABASE #{names[1]} OWNER owner TEMPLATE #{names[0]}")
    2.times { urls.each { |at| Elah::Store.open(at, sweep_seconds: 3600).close } }
    assert_equal([false, true], urls.map { |at| ask(at, "SELECT fenced FROM elah_writers") })
    ask(urls[1], "UPDATE elah_writers SET fenced = false RETURNING writer")
    Elah::Store.open(urls[1], sweep_seconds: 3600).close
    assert_equal false, ask(urls[1], "SELECT fenced FROM elah_writers"), "its own are left alone"
    ask(urls[1], "UPDATE elah_cluster SET place = '' RETURNING place") # what docs/cluster.md says for a physical copy
    Elah::Store.open(urls[1], sweep_seconds: 3600).close
    assert_equal true, ask(urls[1], "SELECT fenced FROM elah_writers")
    Elah::SQL.new(urls[1].sub("owner:", "elah:"), connections_max: 1).tap do |admin|
      admin.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
      admin.close
    end
    Elah::Store.open(urls[1], sweep_seconds: 3600).close # nobody could without the right
  ensure
    names.each { |name| @sql.execute("DROP DATABASE IF EXISTS #{name} WITH (FORCE)") }
    @sql.execute("DROP ROLE owner")
  end

  # A call of the copy ran in the original's process: both were taken for one, as their database is one.
  def test_a_copy_in_another_schema_begins_without_the_processes_of_the_original
    admin = Elah::SQL.new(fresh_url, connections_max: 1)
    names = %w[live staging]
    names.each do |name|
      admin.execute("CREATE ROLE #{name} LOGIN PASSWORD 'secret'")
      admin.execute("CREATE SCHEMA #{name} AUTHORIZATION #{name}")
    end
    urls = names.map { |name| fresh_url.sub("elah:", "#{name}:") }
    urls.each { |at| Elah::Store.open(at, sweep_seconds: 3600).close }
    admin.execute("UPDATE staging.elah_cluster SET place = (SELECT place FROM live.elah_cluster)") # as of a dump
    names.each do |name|
      admin.execute("INSERT INTO #{name}.elah_writers (writer, node, address, socket, version, lease_ms) " \
                    "VALUES (7, '', '', '', 1, 5000)")
    end
    urls.each { |at| Elah::Store.open(at, sweep_seconds: 3600).close }
    assert_equal([false, true], urls.map { |at| ask(at, "SELECT fenced FROM elah_writers") })
  ensure
    names.each { |name| admin.execute("DROP SCHEMA #{name} CASCADE") && admin.execute("DROP ROLE #{name}") }
    admin.close
  end

  def test_another_number_of_shards_is_refused
    error = assert_raises(Elah::Store::OtherShards) { Elah::Store.open(url, shards: 64) }
    assert_match(/is divided into 256 shards for good, and cannot be used with 64\.\z/, error.message)
  end

  def test_a_database_that_does_not_fit_is_refused
    name = url[/\w+\z/]
    @sql.execute("ALTER DATABASE #{name} SET default_transaction_isolation = 'serializable'")
    error = assert_raises(Elah::Store::CannotOpen) { open_again }
    assert_match(/is serializable; a cluster needs read committed/, error.message)
    @sql.execute("ALTER DATABASE #{name} RESET default_transaction_isolation")
    @sql.execute("ALTER DATABASE #{name} SET array_nulls = off")
    error = assert_raises(Elah::Store::CannotOpen) { open_again }
    assert_match(/array_nulls of .* is off; a cluster needs on/, error.message)
    @sql.execute("ALTER DATABASE #{name} RESET array_nulls")
    @sql.execute("CREATE ROLE guest LOGIN PASSWORD 'secret'")
    error = assert_raises(Elah::Store::CannotOpen) { Elah::Store.open(fresh_url.sub("elah:", "guest:")) }
    assert_match(/The cluster cannot be opened. .*permission denied for schema public/, error.message)
    assert_raises(Elah::Store::CannotOpen) { Elah::Store.open(url.sub(":secret@", ":wrong@")) }
  ensure
    @sql.execute("DROP ROLE IF EXISTS guest")
  end

  def test_wrong_arguments
    error = assert_raises(ArgumentError) { Elah::Store.open(url, clock: Elah::Store::Clock.new) }
    assert_equal "clock: a cluster has the clock of its database", error.message
    assert_raises(Elah::OptionError) { Elah::Store.open("redis://localhost/0") }
    assert_raises(Elah::OptionError) { Elah::Store.open(url, connections_max: 0) }
    ["a\0b", "\xff"].each { |name| assert_raises(Elah::Store::InvalidKey) { @store.table(name) } }
    assert_raises(RangeError) { @counter.increment("a", by: 2**63) }
    assert_raises(TypeError) { @counter.increment("a", by: "1") }
    assert_raises(TypeError) { @store.transaction { |tx| tx.put(@counter, "a", "1") } }
    assert_raises(TypeError) { @store.transaction { |tx| tx.add(@table, "a") } }
  end

  def test_a_collection_in_a_table_is_refused_with_the_remedy
    [-> { Elah::LeasePool.open(@store, "seats", 1..3, hold: 60) },
     -> { Elah::RankedSet.open(@store, "scores") }].each do |call|
      assert_match(/On a cluster, keep it in an entity\./, assert_raises(ArgumentError, &call).message)
    end
    assert_empty @store.table("elah:owners").range
  end

  # Processes name entities to each other by it.
  def test_the_store_is_the_same_whatever_the_url
    other = Elah::Store.open(url.sub("127.0.0.1", "localhost"), sweep_seconds: 3600)
    refute_equal @store.dir, other.dir
    assert_equal @store.identity, other.identity
  ensure
    other&.close
  end

  # Each was a process of its own to the other: half of all entities belonged to the one that did not know them.
  def test_entities_of_two_openings_are_refused
    other = open_again
    first, second = Array.new(2) { |number| Class.new(Elah::Entity) { entity_name "openings #{number}" } }
    first.in(@store)
    assert_match(/is open twice in this process/, assert_raises(ArgumentError) { second.in(other) }.message)
    assert_equal 0, other.table("without entities").size
    @store.close
    assert second.in(other)
  ensure
    other&.close
  end

  # The shards of the first opening were kept, and so others seemed to own them.
  def test_another_class_has_its_entities_when_a_store_is_opened_again
    first, second = Array.new(2) do |number|
      Class.new(Elah::Entity) do
        entity_name "again #{number}"
        define_method(:add) do
          state.put("n", "1")
          number
        end
      end
    end
    assert_equal 0, Elah.run { first.in(@store)["a"].add }
    @store.close
    @store = open_again
    assert_equal 1, Elah.run { second.in(@store)["a"].add }
  end

  private

  # A database without tables.
  def fresh_url
    @fresh_url ||= begin
      name = "fresh_#{object_id}"
      @sql.execute("CREATE DATABASE #{name}")
      url.sub(/\w+\z/, name)
    end
  end

  # @return [Object] the only value, in another database
  def ask(url, statement)
    sql = Elah::SQL.new(url, connections_max: 1)
    sql.value(statement)
  ensure
    sql&.close
  end
end
