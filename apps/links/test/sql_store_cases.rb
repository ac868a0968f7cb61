# frozen_string_literal: true

require_relative "store_cases"
require_relative "../stores/sql"
require "support/servers"

# Owns what the tests of the store on PostgreSQL and on MariaDB have in common: one server for all, and empty tables for
# each.
module SQLStoreCases
  include StoreCases

  TABLES = %w[links visits tagged targets requests service numbers].freeze

  def setup
    @opened = []
    sql = Elah::SQL.new(server.url)
    Links::Stores::SQL::Schema.new(sql).create
    TABLES.each { |table| sql.execute("DELETE FROM #{table}") }
    sql.close
    super
  end

  def teardown = @opened.each(&:close)

  def test_several_processes_may_create_the_tables_at_once
    sql = Elah::SQL.new(server.url)
    TABLES.each { |table| sql.execute("DROP TABLE #{table}") }
    stores = Array.new(4) { Thread.new { Links::Stores::SQL.new(server.url) } }.map(&:value)
    assert_equal [10, 20, 30, 40], stores.map { |store| store.reserve_numbers(10) }
  ensure
    [sql, *stores].each(&:close)
  end

  def test_a_limit_is_exact_under_200_concurrent_visits
    create("abc", max_visits: 150)
    taken = Array.new(200) { Thread.new { @store.take_visit("abc", 150) } }.map(&:value)
    assert_equal({ true => 150, false => 50 }, taken.tally)
  end

  def test_codes_are_bytes
    create("abc")
    assert_equal [nil, nil, nil], ["ABC", "abc ", "abc\0"].map { |code| @store.redirect(code) }
  end

  private

  def open_store = Links::Stores::SQL.new(server.url).tap { |store| @opened << store }
end
