# frozen_string_literal: true

require_relative "../stores/sql"
require_relative "store_checks"
require_relative "uniformity_checks"
require_relative "../../../test/support/servers"

# What the store of the SQL servers must do, on each of them.
module SQLStoreChecks
  include StoreChecks
  include UniformityChecks

  def setup
    @sql = Elah::SQL.new(server.url)
    %w[items item_tags item_totals].each { |table| @sql.execute("DROP TABLE IF EXISTS #{table}") }
    @store = Items::Stores::SQL.new(@sql)
  end

  def teardown = @sql.close

  def test_writers_at_the_same_time_keep_positions_dense
    threads = Array.new(4) do |thread|
      Thread.new do
        10.times do |round|
          @store.insert([item(thread * 100 + round, tags: %w[a b])])
          @store.delete([uuid(thread * 100 + round - 3)])
        end
      end
    end
    threads.each(&:join)
    assert_equal 12, @store.size
    assert_positions_dense
  end

  # The first use of a process inserted rows that were there: it waited for a writer, and MariaDB found a deadlock.
  def test_a_process_starts_while_another_one_writes
    @store.insert([item(0)])
    client = Elah::SQL.new(server.url, query_seconds: 10)
    @sql.transaction do |tx|
      tx.value(Items::Stores::SQL::Writing::LOCK)
      assert_equal 1, Items::Stores::SQL.new(client).size
    end
  ensure
    client&.close
  end

  def test_several_processes_create_the_tables_at_once
    5.times do
      %w[items item_tags item_totals].each { |table| @sql.execute("DROP TABLE IF EXISTS #{table}") }
      clients = Array.new(4) { Elah::SQL.new(server.url) }
      sizes = clients.map { |client| Thread.new { Items::Stores::SQL.new(client).size } }.map(&:value)
      assert_equal [0] * 4, sizes
    ensure
      clients&.each(&:close)
    end
  end
end
