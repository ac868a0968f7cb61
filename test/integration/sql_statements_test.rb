# frozen_string_literal: true

require_relative "../support/sql_case"

# What statements, values and streams do on each server.
module SQLStatements
  def test_results_come_in_five_shapes
    sql = client
    insert = "INSERT INTO things (name) VALUES (?)"
    assert_equal 1, sql.execute(insert, "a").affected_rows
    assert_equal [1, (2 if server.is_a?(Servers::MariaDB))], sql.execute(insert, "b").to_a
    assert_equal [{ "id" => 1, "name" => "a" }, { "id" => 2, "name" => "b" }],
                 sql.query("SELECT id, name FROM things ORDER BY id")
    assert_equal [[1, "a"], [2, "b"]], sql.rows("SELECT id, name FROM things ORDER BY id")
    assert_equal({ "name" => "b" }, sql.first("SELECT name FROM things WHERE id = ?", 2))
    assert_equal "b", sql.value("SELECT name FROM things WHERE id = ?", 2)
    missing = %i[query rows first value].map do |shape|
      sql.public_send(shape, "SELECT name FROM things WHERE id = ?", 3)
    end
    assert_equal [[], [], nil, nil], missing
    assert_equal 2, sql.execute("UPDATE things SET name = name").affected_rows, "rows that were found, changed or not"
  end

  def test_names_of_columns_are_one_object_for_all_rows
    first, second = client.query("SELECT 1 AS one UNION ALL SELECT 2").map { |row| row.keys.first }
    assert_same first, second
    assert_predicate first, :frozen?
  end

  def test_values_come_back_as_they_were
    sql = client
    types = server.is_a?(Servers::PostgreSQL) ? %w[bytea timestamptz jsonb] : %w[blob datetime(6) json]
    sql.execute("CREATE TABLE IF NOT EXISTS typed (n bigint, f double precision, d numeric(40, 10), b boolean, " \
                "t text, raw #{types[0]}, at #{types[1]}, day date, j #{types[2]})")
    values = { "n" => -(2**63), "f" => 0.1, "d" => BigDecimal("-123456789012345678901234567890.0000000001"),
               "b" => true, "t" => "Grüße 🪨 \\ ' \" ?", "raw" => (0..255).map(&:chr).join.b,
               "at" => Time.utc(1969, 12, 31, 23, 59, 59, 999_999), "day" => Date.new(1, 1, 1),
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

  # Those before the Gregorian calendar were sent by their day, and so as another date than they show: 1500-01-10 for
  # 1500-01-01.
  def test_a_date_is_stored_as_it_is_written
    sql = client
    %w[0001-01-01 1500-01-01 1582-10-04 1582-10-15 2026-11-27].each do |text|
      assert_equal text, sql.value("SELECT CAST(CAST(? AS date) AS char(10))", Date.parse(text))
      assert_equal Date.parse(text), sql.value("SELECT CAST('#{text}' AS date)")
    end
    assert_equal "1582-10-10", sql.value("SELECT CAST('1582-10-10' AS date)").to_s # which `Date.parse` refuses
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
    assert_match(/needs 1 parameters, but got 2/, error.message)
    assert_equal "sql_error", error.code
  end

  def test_errors_of_rows_have_classes_and_show_no_values
    sql = client
    sql.execute("INSERT INTO things (name) VALUES (?)", "secret-name")
    error = assert_raises(Elah::SQL::UniqueViolation) do
      sql.execute("INSERT INTO things (name) VALUES (?)", "secret-name")
    end
    assert_equal "unique_violation", error.code
    assert_match(/\A23/, error.sqlstate)
    refute_match(/secret-name/, error.message)
    sql.execute("CREATE TABLE parts (thing bigint, FOREIGN KEY (thing) REFERENCES things (id))")
    error = assert_raises(Elah::SQL::ForeignKeyViolation) { sql.execute("INSERT INTO parts (thing) VALUES (?)", 99) }
    assert_equal "foreign_key_violation", error.code
  ensure
    @admin.execute("DROP TABLE IF EXISTS parts")
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

  # Its fiber kept the connection until the Enumerator was collected.
  def test_an_enumerator_that_is_left_ends_with_its_fiber
    sql = client(connections_max: 1, pool_seconds: 5)
    rows = []
    Elah.run do
      3.times { Elah.async { rows << sql.each_row(series_sql(100_000)).tap(&:next) }.wait }
      assert_equal 1, sql.value("SELECT 1")
    end
    assert_equal 3, rows.size
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

  # `query` repeated the statement, but `each_row` failed for a minute.
  def test_rows_of_a_table_that_changes_under_a_prepared_statement
    sql = client(connections_max: 1)
    sql.execute("INSERT INTO things (name) VALUES ('a')")
    assert_equal [%w[id name]], sql.each_row("SELECT * FROM things").map(&:keys)
    @admin.execute("ALTER TABLE things ADD COLUMN more integer")
    assert_equal [%w[id name more]], sql.each_row("SELECT * FROM things").map(&:keys)
  end

  # The server converted the parameter to the old type, and refused it, until the worker was restarted.
  def test_a_column_that_changes_its_type_under_a_prepared_statement
    sql = client(connections_max: 1)
    @admin.execute("ALTER TABLE things ADD COLUMN more integer")
    insert = "INSERT INTO things (more) VALUES (?)"
    sql.execute(insert, 1)
    @admin.execute("ALTER TABLE things #{server.is_a?(Servers::PostgreSQL) ? 'ALTER more TYPE' : 'MODIFY more'} bigint")
    sql.execute(insert, 3_000_000_000)
    assert_equal 3_000_000_000, sql.value("SELECT max(more) FROM things")
  end

  private

  def resident_bytes = File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i * 1024
end

SQLCase.on_each_server(SQLStatements)
