# frozen_string_literal: true

require_relative "../support/sql_case"

# What statements, values, transactions and streams do on each server.
module SQLStatements
  def test_results_come_in_five_shapes
    sql = client
    insert = "INSERT INTO things (name) VALUES (?)"
    assert_equal 1, sql.execute(insert, "a").affected_rows
    assert_equal [1, (2 if server.is_a?(Servers::MariaDB))], sql.execute(insert, "b").to_a
    assert_equal [{ "id" => 1, "name" => "a" }, { "id" => 2, "name" => "b" }], sql.query("SELECT id, name FROM things ORDER BY id")
    assert_equal [[1, "a"], [2, "b"]], sql.rows("SELECT id, name FROM things ORDER BY id")
    assert_equal({ "name" => "b" }, sql.first("SELECT name FROM things WHERE id = ?", 2))
    assert_equal "b", sql.value("SELECT name FROM things WHERE id = ?", 2)
    assert_equal [[], [], nil, nil], %i[query rows first value].map { |shape| sql.public_send(shape, "SELECT name FROM things WHERE id = ?", 3) }
    assert_equal 2, sql.execute("UPDATE things SET name = name").affected_rows, "rows that were found, changed or not"
  end

  def test_a_unix_socket_does_as_well
    sql = client(server.socket_url)
    assert_equal [1, "a"], [sql.execute("INSERT INTO things (name) VALUES (?)", "a").affected_rows, @admin.value("SELECT name FROM things")]
    assert_includes sql.server, server.folder
    impatient = client(server.socket_url, query_seconds: 0.2)
    assert_raises(Elah::QueryTimeout) { impatient.value(sleep_sql(60)) }
    wait_until("the statement to be ended on the server") { @admin.value(sleepers_sql).zero? }
  end

  def test_a_unix_socket_that_is_not_there
    error = assert_raises(Elah::Unavailable) { client(server.socket_url.sub(server.folder, "/nowhere")).value("SELECT 1") }
    assert_match(%r{\A/nowhere/.*cannot be reached}, error.message)
    refute_includes error.message, "secret"
  end

  def test_names_of_columns_are_one_object_for_all_rows
    first, second = client.query("SELECT 1 AS one UNION ALL SELECT 2").map { |row| row.keys.first }
    assert_same first, second
    assert_predicate first, :frozen?
  end

  def test_values_come_back_as_they_were
    sql = client
    types = server.is_a?(Servers::PostgreSQL) ? %w[bytea timestamptz jsonb] : %w[blob datetime(6) json]
    sql.execute("CREATE TABLE IF NOT EXISTS typed (n bigint, f double precision, d numeric(40, 10), b boolean, t text, " \
                "raw #{types[0]}, at #{types[1]}, day date, j #{types[2]})")
    values = { "n" => -(2**63), "f" => 0.1, "d" => BigDecimal("-123456789012345678901234567890.0000000001"), "b" => true, "t" => "Grüße 🪨 \\ ' \" ?",
               "raw" => (0..255).map(&:chr).join.b, "at" => Time.utc(1969, 12, 31, 23, 59, 59, 999_999), "day" => Date.new(1, 1, 1),
               "j" => { "a" => [1, nil, "ü"] } }
    insert = "INSERT INTO typed (#{values.keys.join(', ')}) VALUES (#{(['?'] * values.size).join(', ')})"
    sql.execute(insert, *values.values)
    row = sql.first("SELECT * FROM typed")
    row["j"] = Elah::JSON.parse(row["j"]) if row["j"].is_a?(String)
    assert_equal values, row
    assert_equal [Encoding::UTF_8, Encoding::BINARY, 0], [row["t"].encoding, row["raw"].encoding, row["at"].utc_offset]
    sql.execute("DELETE FROM typed")
    sql.execute(insert, *([nil] * values.size))
    assert_equal [nil], sql.first("SELECT * FROM typed").values.uniq
  ensure
    @admin.execute("DROP TABLE IF EXISTS typed")
  end

  def test_rows_survive_a_collection_at_every_allocation
    sql = client
    statement = "SELECT n, n + 0.5 AS d, CAST('2026-11-21' AS date) AS day FROM (#{series_sql(3)}) AS numbers"
    expected = sql.query(statement)
    GC.stress = true
    row = sql.query(statement)
    GC.stress = false
    assert_equal expected, row
  ensure
    GC.stress = false
  end

  def test_a_string_is_sent_in_utf_8_whatever_its_encoding
    sql = client
    sql.execute("INSERT INTO things (name) VALUES (?)", "Grüße".encode("ISO-8859-1"))
    sql.execute("INSERT INTO things (name) VALUES (?)", :symbol)
    assert_equal %w[Grüße symbol], sql.rows("SELECT name FROM things ORDER BY id").flatten
    error = assert_raises(ArgumentError) { sql.value("SELECT ?", "\xFF") }
    assert_match(/not valid in its encoding/, error.message)
  end

  def test_a_parameter_without_an_sql_type_is_refused_with_those_that_have_one
    error = assert_raises(ArgumentError) { client.value("SELECT ?", Object.new) }
    assert_match(/\AA parameter is nil, true, false, an Integer, .*not a Object\z/, error.message)
  end

  def test_the_number_of_parameters_is_checked
    error = assert_raises(Elah::SQL::Error) { client.value("SELECT ?", 1, 2) }
    assert_match(/takes 1 parameters, and 2 were given/, error.message)
    assert_equal "sql_error", error.code
  end

  def test_errors_of_rows_have_classes_and_show_no_values
    sql = client
    sql.execute("INSERT INTO things (name) VALUES (?)", "secret-name")
    error = assert_raises(Elah::SQL::UniqueViolation) { sql.execute("INSERT INTO things (name) VALUES (?)", "secret-name") }
    assert_equal "unique_violation", error.code
    assert_match(/\A23/, error.sqlstate)
    refute_match(/secret-name/, error.message)
    sql.execute("CREATE TABLE parts (thing bigint, FOREIGN KEY (thing) REFERENCES things (id))")
    error = assert_raises(Elah::SQL::ForeignKeyViolation) { sql.execute("INSERT INTO parts (thing) VALUES (?)", 99) }
    assert_equal "foreign_key_violation", error.code
  ensure
    @admin.execute("DROP TABLE IF EXISTS parts")
  end

  def test_two_transactions_that_wait_for_each_other_are_told
    sql = client
    2.times { |number| sql.execute("INSERT INTO things (name) VALUES (?)", number.to_s) }
    both = Queue.new
    outcomes = [[1, 2], [2, 1]].map do |mine, other|
      Thread.new do
        outcome do
          sql.transaction do |tx|
            tx.execute("UPDATE things SET name = ? WHERE id = ?", "x#{mine}", mine)
            both << mine
            Thread.pass until both.size == 2
            tx.execute("UPDATE things SET name = ? WHERE id = ?", "y#{mine}", other)
          end
        end
      end
    end.map(&:value)
    assert_equal [:done, "serialization_failure"], outcomes.map { |one| one == :done ? one : one.code }.sort_by(&:to_s)
  end

  def test_a_transaction_is_stored_whole_or_not_at_all
    sql = client
    insert = "INSERT INTO things (name) VALUES (?)"
    assert_equal(:value, sql.transaction { |tx| tx.execute(insert, "kept") && :value })
    assert_raises(RuntimeError) { sql.transaction { |tx| tx.execute(insert, "raised") and raise } }
    sql.transaction { |tx| tx.execute(insert, "broken off") and break }
    catch(:out) { sql.transaction { |tx| tx.execute(insert, "thrown") and throw(:out) } }
    assert_equal [["kept"]], sql.rows("SELECT name FROM things")
    assert_equal [0, 1], sql.status.values_at(:in_use, :idle)
  end

  def test_a_part_of_a_transaction_can_be_undone
    sql = client
    insert = "INSERT INTO things (name) VALUES (?)"
    sql.transaction do |tx|
      tx.execute(insert, "a")
      tx.transaction { tx.execute(insert, "b") }
      assert_raises(Elah::SQL::UniqueViolation) { tx.transaction { tx.execute(insert, "c") && tx.execute(insert, "a") } }
      assert_raises(RuntimeError) { tx.transaction { tx.transaction { tx.execute(insert, "d") } and raise } }
    end
    assert_equal %w[a b], sql.rows("SELECT name FROM things ORDER BY id").flatten
  end

  def test_isolation_is_what_was_asked_for
    sql = client
    sql.transaction(isolation: :repeatable_read) do |tx|
      assert_equal 0, tx.value("SELECT count(*) FROM things")
      sql.execute("INSERT INTO things (name) VALUES ('other')")
      assert_equal 0, tx.value("SELECT count(*) FROM things")
    end
    sql.transaction(isolation: :read_committed) do |tx|
      tx.value("SELECT count(*) FROM things")
      sql.execute("INSERT INTO things (name) VALUES ('another')")
      assert_equal 2, tx.value("SELECT count(*) FROM things")
    end
    error = assert_raises(ArgumentError) { sql.transaction(isolation: :chaos) { flunk } }
    assert_equal "isolation: is :read_committed, :repeatable_read or :serializable, not :chaos", error.message
  end

  def test_a_transaction_that_is_over_takes_nothing_more
    kept = nil
    sql = client
    sql.transaction { |tx| kept = tx }
    assert_match(/The transaction is over/, assert_raises(Elah::SQL::Error) { kept.value("SELECT 1") }.message)
  end

  def test_rows_are_read_as_they_are_taken
    sql = client(connections_max: 1)
    sum = 0
    assert_nil(sql.each_row(series_sql(10_000)) { |row| sum += row["n"] })
    assert_equal 50_005_000, sum
    assert_equal 1, sql.value("SELECT 1")
    assert_equal [1, 2, 3], sql.each_row(series_sql(1_000_000)).first(3).map { |row| row["n"] }
    assert_equal 1, sql.value("SELECT 1")
    assert_raises(Elah::SQL::SyntaxError) { sql.each_row("SELECT nothing FROM things") { flunk } }
    sql.transaction do |tx|
      tx.each_row(series_sql(1000)) { |row| break if row["n"] == 5 }
      assert_equal 7, tx.value("SELECT 7")
    end
    wait_until("one connection is left") { connections == 1 }
  end

  def test_a_result_that_is_streamed_is_never_in_memory_whole
    before = resident_bytes
    rows = 0
    client.each_row("SELECT n, repeat('x', 1000) AS text FROM (#{series_sql(100_000)}) AS numbers") { rows += 1 }
    assert_equal 100_000, rows
    assert_operator resident_bytes - before, :<, 60_000_000, "the rows are 100 MB"
  end

  def test_more_statements_than_are_kept_may_be_used
    sql = client(connections_max: 1, statements_max: 4)
    2.times { 20.times { |number| assert_equal number, sql.value("SELECT #{number}") } }
  end

  def test_a_table_that_changes_under_a_prepared_statement
    sql = client(connections_max: 1)
    sql.execute("INSERT INTO things (name) VALUES ('a')")
    assert_equal %w[id name], sql.first("SELECT * FROM things").keys
    @admin.execute("ALTER TABLE things ADD COLUMN more integer")
    assert_equal %w[id name more], sql.first("SELECT * FROM things").keys
  end

  def test_a_closed_client_says_so
    sql = client
    sql.value("SELECT 1")
    sql.close
    assert_predicate sql, :closed?
    error = assert_raises(Elah::SQL::Closed) { sql.value("SELECT 1") }
    assert_equal "client_closed", error.code
    wait_until("no connection is left") { connections.zero? }
  end

  def test_a_connection_that_nobody_uses_is_closed
    sql = client(idle_seconds: 0.1)
    Array.new(3) { Thread.new { sql.value(sleep_sql(0.05)) } }.each(&:join)
    wait_until("no connection is left") { connections.zero? }
    assert_equal 0, sql.status[:idle]
    assert_equal 1, sql.value("SELECT 1")
  end

  def test_a_child_process_has_connections_of_its_own
    sql = client
    mine = sql.value(connection_id_sql)
    reader, writer = IO.pipe
    pid = fork do
      writer.write(sql.value(connection_id_sql).to_s)
      writer.close
      exit!(0)
    end
    writer.close
    refute_equal mine.to_s, reader.read
    Process.wait(pid)
    assert_equal mine, sql.value(connection_id_sql)
  end

  def test_encryption_is_what_the_url_asks_for
    server.class.start(tls: true) do |secure|
      { "require" => true, "prefer" => true, "disable" => false, "verify-full&sslrootcert=#{secure.ca_file}" => true }.each do |mode, is_encrypted|
        sql = Elah::SQL.new("#{secure.url}?sslmode=#{mode}")
        assert_equal is_encrypted, encrypted?(sql), mode
        sql.close
      end
      other = server.class.start(tls: true)
      sql = Elah::SQL.new("#{secure.url}?sslmode=verify-full&sslrootcert=#{other.ca_file}")
      error = assert_raises(Elah::Unavailable) { sql.value("SELECT 1") }
      assert_match(/certificate/i, error.message)
      sql.close
    ensure
      other&.remove
    end
    sql = Elah::SQL.new("#{server.url}?sslmode=require")
    assert_raises(Elah::Unavailable) { sql.value("SELECT 1") }
    sql.close
  end

  private

  def resident_bytes = File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i * 1024

  def encrypted?(sql)
    return sql.value("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") if sql.postgres?

    sql.first("SHOW STATUS LIKE 'Ssl_cipher'")["Value"] != ""
  end
end

SQLCase.on_each_server(SQLStatements)

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
    assert_equal [id, "12:34:56.500000", Float::INFINITY, -Float::INFINITY, [1, { "a" => nil }], 1.5], row.values.first(6)
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
    assert_equal [time, "2026-11-20 19:32:03.25"], sql.rows("SELECT ?::timestamptz, (?::timestamp)::text", time, time).first
  end

  def test_a_value_that_does_not_fit_is_not_shown
    error = assert_raises(Elah::SQL::Error) { sql.value("SELECT ?::integer", "hunter2") }
    assert_equal "22P02", error.sqlstate
    refute_match(/hunter2/, error.message)
  end
end
