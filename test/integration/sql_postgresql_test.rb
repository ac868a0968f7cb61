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
    assert_equal({ "i" => [1, nil, 3], "t" => ["a,b", "c\"d\\", nil, "NULL"], "nested" => [[1, 2], [3, 4]],
                   "none" => [] }, row)
    assert_equal 2, sql.value("SELECT count(*) FROM generate_series(1, 9) n WHERE n = ANY(?)", [2, 3, 30])
  end

  # An Array wrote bytes as `\x726564` into text, and read text for bytea as its escapes. Keys of Elah::Store and bodies
  # of requests are such Strings.
  def test_an_element_is_stored_as_the_value_alone
    { "text" => ["red".b, "a\"b\\c".b, "é"], "int" => ["5".b], "bytea" => ["\\x41", "\\101", "a\\b\0\xFF".b],
      "jsonb" => [{ "a\\" => 1 }, true, 1.5], "bytea[]" => [] }.each do |type, values|
      type = type.delete_suffix("[]")
      alone = values.map { |value| sql.value("SELECT ?::#{type}", value) }
      assert_equal alone, sql.value("SELECT ?::#{type}[]", values), type
      assert_equal [alone, alone], sql.value("SELECT ?::#{type}[]", [values, values]), type unless values.empty?
    end
    assert_equal 1, sql.value("SELECT count(*) FROM (VALUES ('ann')) AS people (name) WHERE name = ANY(?)", ["ann".b])
    assert_equal '{"a":"x\\\\y"}'.b, sql.value("SELECT ?::bytea", { "a" => "x\\y" })
    assert_raises(Elah::SQL::Error) { sql.value("SELECT ?::text[]", ["\xFF".b]) }
  end

  def test_types_of_its_own
    id = "0b21b5e5-6f0b-4d0e-9d1c-2f1e3d4c5b6a"
    row = sql.first("SELECT ?::uuid AS u, '12:34:56.5'::time AS t, 'infinity'::timestamptz AS i, " \
                    "'-infinity'::date AS o, ?::json AS j, 1.5::real AS r, 'NaN'::numeric AS n",
                    id, [1, { "a" => nil }])
    assert_equal [id, "12:34:56.500000", Float::INFINITY, -Float::INFINITY, [1, { "a" => nil }], 1.5],
                 row.values.first(6)
    assert_predicate row["n"], :nan?
    error = assert_raises(Elah::SQL::Error) { sql.value("SELECT interval '1 day' AS span") }
    assert_match(/Column span of type interval cannot be read: .* cast it in the statement/, error.message)
    assert_equal "1 day", sql.value("SELECT (interval '1 day')::text")
  end

  # PostgreSQL refused what the client had read from it: "inf" is no date, "t" no JSON, and "{1}" no document of a
  # domain.
  def test_what_is_read_can_be_written
    sql.execute("CREATE DOMAIN document AS jsonb")
    ends = [Float::INFINITY, -Float::INFINITY]
    %w[date timestamp timestamptz float8].each do |type|
      assert_equal [*ends, ends], sql.rows("SELECT ?::#{type}, ?::#{type}, ?::#{type}[]", *ends, ends).first, type
    end
    [true, false, 1.5, [1, [true]], { "a" => [] }, nil].each do |value|
      assert_equal [[value] * 3], sql.rows("SELECT ?::json, ?::jsonb, ?::document", *[value] * 3), value.inspect
    end
    assert_equal ["2026-11-27"], sql.rows("SELECT ?::jsonb", Date.new(2026, 11, 27)).first
  ensure
    sql.execute("DROP DOMAIN IF EXISTS document")
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

  # Each left a session behind, which waited for the client's rows until the process ended, and kept its locks.
  def test_a_copy_with_the_client_is_refused
    assert_raises(Elah::SQL::Error) { sql.execute("COPY (SELECT 1) TO STDOUT") }
    sql.execute("CREATE TABLE copies (n int PRIMARY KEY)")
    error = assert_raises(Elah::SQL::Error) do
      sql.transaction { |tx| tx.execute("INSERT INTO copies VALUES (1)") && tx.execute("COPY copies FROM STDIN") }
    end
    assert_match(/has no COPY FROM STDIN or/, error.message)
    assert_equal 1, sql.execute("INSERT INTO copies VALUES (1)").affected_rows, "the transaction is over"
  ensure
    sql.execute("DROP TABLE IF EXISTS copies")
  end

  # An error of its second step was taken for that of an old plan: the procedure ran again, and had booked twice.
  def test_a_procedure_that_fails_after_it_has_committed_runs_once
    sql.execute("CREATE TABLE bookings (n int)")
    sql.execute("CREATE PROCEDURE book(divisor int) LANGUAGE plpgsql AS " \
                "$$ BEGIN INSERT INTO bookings VALUES (1); COMMIT; PERFORM 1 / divisor; END $$")
    sql.execute("CALL book(?)", 1)
    assert_equal "22012", assert_raises(Elah::SQL::Error) { sql.execute("CALL book(?)", 0) }.sqlstate
    assert_equal 2, sql.value("SELECT count(*) FROM bookings")
    assert_raises(Elah::SQL::Error) { sql.each_row("CALL book(?)", 0).to_a }
    assert_equal 3, sql.value("SELECT count(*) FROM bookings")
  ensure
    sql.execute("DROP PROCEDURE IF EXISTS book")
    sql.execute("DROP TABLE IF EXISTS bookings")
  end

  # The server no longer knew the type of the parameter, and refused the statement for a minute.
  def test_an_enum_that_is_replaced_under_a_prepared_statement
    sql.execute("CREATE TYPE mood AS ENUM ('calm')")
    sql.execute("CREATE TABLE moods (mood mood)")
    insert = "INSERT INTO moods VALUES (?)"
    sql.execute(insert, "calm")
    ["ALTER TYPE mood RENAME TO old_mood", "CREATE TYPE mood AS ENUM ('calm', 'angry')",
     "ALTER TABLE moods ALTER mood TYPE mood USING mood::text::mood",
     "DROP TYPE old_mood"].each { |change| sql.execute(change) }
    sql.execute(insert, "angry")
    assert_equal %w[calm angry], sql.rows("SELECT mood FROM moods").flatten
  ensure
    sql.execute("DROP TABLE IF EXISTS moods")
    sql.execute("DROP TYPE IF EXISTS mood, old_mood")
  end

  # No failure made the connection forget the statement: the transaction failed at each attempt, for a minute.
  def test_a_transaction_that_meets_a_changed_table_can_be_run_again
    sql.execute("CREATE TABLE widened (a int)")
    select = "SELECT * FROM widened"
    %i[query each_row].each do |read|
      sql.transaction { |tx| tx.public_send(read, select).to_a }
      sql.execute("ALTER TABLE widened ADD COLUMN #{read} int")
      run = -> { sql.transaction { |tx| tx.public_send(read, select).to_a } }
      assert_equal "0A000", assert_raises(Elah::SQL::Error, &run).sqlstate
      assert_empty run.call
    end
  ensure
    sql.execute("DROP TABLE IF EXISTS widened")
  end

  # They were told as a lost connection, which asks to be tried again.
  # It went back to the pool, and refused all writes for good.
  def test_a_session_that_began_while_the_database_was_read_only_ends
    admin = Elah::SQL.new(Servers::PostgreSQL.shared.url, connections_max: 1)
    database = admin.value("SELECT current_database()")
    admin.execute("CREATE TABLE IF NOT EXISTS marks (n int)")
    admin.execute("ALTER DATABASE #{database} SET default_transaction_read_only = on")
    sql.value("SELECT 1")
    admin.execute("ALTER DATABASE #{database} RESET default_transaction_read_only")
    assert_equal "25006", assert_raises(Elah::SQL::Error) { sql.execute("INSERT INTO marks VALUES (1)") }.sqlstate
    sql.execute("INSERT INTO marks VALUES (1)")
  ensure
    admin.execute("ALTER DATABASE #{database} RESET default_transaction_read_only")
    admin.execute("DROP TABLE marks")
    admin.close
  end

  def test_too_many_parameters_are_refused
    error = assert_raises(Elah::SQL::Error) { sql.value("SELECT #{(['?'] * 65_536).join('+')}", *[1] * 65_536) }
    assert_match(/takes 65535 parameters, not 65536/, error.message)
    assert_equal 1, sql.value("SELECT 1")
  end

  def test_bytes_that_are_no_text_are_no_json
    [["\xFF".b], "\xFF".b].each { |value| assert_raises(Elah::SQL::Error) { sql.value("SELECT ?::jsonb", value) } }
  end

  def test_a_value_that_does_not_fit_is_not_shown
    error = assert_raises(Elah::SQL::Error) { sql.value("SELECT ?::integer", "hunter2") }
    assert_equal "22P02", error.sqlstate
    refute_match(/hunter2/, error.message)
    error = assert_raises(Elah::SQL::Error) { sql.value("SELECT ?::integer[]", [["hunter2"]]) }
    assert_match(/type integer: \?\. In/, error.message)
  end

  # The name was taken for the parameter.
  def test_a_name_that_is_wrong_is_shown
    error = assert_raises(Elah::SQL::SyntaxError) { sql.query("SELECT name FROM pg_class WHERE relname = ?", "name") }
    assert_match(/column "name" does not exist/, error.message)
  end

  # It was told as a lost connection, and it was one.
  def test_a_statement_with_a_nul_is_refused
    before = sql.value("SELECT pg_backend_pid()")
    assert_match(/has no NUL/, assert_raises(Elah::SQL::Error) { sql.value("SELECT 'a\0b'") }.message)
    assert_equal before, sql.value("SELECT pg_backend_pid()")
  end
end
