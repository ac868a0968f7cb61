# frozen_string_literal: true

require_relative "../test_helper"
require "elah/clients/sql"
require_relative "../support/servers"

# What PostgreSQL alone has.
class SQLPostgreSQLTest < Minitest::Test
  def sql = @sql ||= Elah::SQL.new(Servers::PostgreSQL.shared.url)
  def teardown = sql.close

  def test_arrays_go_both_ways
    row = sql.first("SELECT ?::int[] AS i, ?::text[] AS t, '{{1,2},{3,4}}'::bigint[] AS nested, '{}'::text[] AS none",
                    [1, nil, 3], ["a,b", "c\"d\\", nil, "NULL"])
    assert_equal({ "i" => [1, nil, 3], "t" => ["a,b", "c\"d\\", nil, "NULL"], "nested" => [[1, 2], [3, 4]], "none" => [] }, row)
    assert_equal 2, sql.value("SELECT count(*) FROM generate_series(1, 9) n WHERE n = ANY(?)", [2, 3, 30])
  end

  def test_types_of_its_own
    id = "0b21b5e5-6f0b-4d0e-9d1c-2f1e3d4c5b6a"
    row = sql.first("SELECT ?::uuid AS u, '12:34:56.5'::time AS t, 'infinity'::timestamptz AS i, '-infinity'::date AS o, ?::json AS j, " \
                    "1.5::real AS r, 'NaN'::numeric AS n", id, [1, { "a" => nil }])
    assert_equal [id, "12:34:56.500000", Float::INFINITY, -Float::INFINITY, [1, { "a" => nil }], 1.5],
                 row.values.first(6)
    assert_predicate row["n"], :nan?
    error = assert_raises(Elah::SQL::Error) { sql.value("SELECT interval '1 day' AS span") }
    assert_match(/Column span of type interval cannot be read: .* cast it in the statement/, error.message)
    assert_equal "1 day", sql.value("SELECT (interval '1 day')::text")
  end

  def test_parameters_may_be_numbered_and_marks_may_be_operators
    assert_equal [3, 3], sql.rows("SELECT $1::int + $2::int, $2::int + $1::int", 1, 2).first
    assert_equal true, sql.value("SELECT '{\"a\": 1}'::jsonb ?? ?", "a")
    assert_equal "why?", sql.value("SELECT 'why?' -- ?\n WHERE 1 = ?", 1)
  end

  def test_a_time_of_any_zone_is_the_same_moment
    time = Time.new(2026, 11, 21, 1, 2, 3.25r, "+05:30")
    assert_equal [time, "2026-11-20 19:32:03.25"],
                 sql.rows("SELECT ?::timestamptz, (?::timestamp)::text", time, time).first
  end

  def test_a_value_that_does_not_fit_is_not_shown
    error = assert_raises(Elah::SQL::Error) { sql.value("SELECT ?::integer", "hunter2") }
    assert_equal "22P02", error.sqlstate
    refute_match(/hunter2/, error.message)
  end
end
