# frozen_string_literal: true

require_relative "../support/sql_case"
require_relative "../support/cutting_proxy"

# Statements of MariaDB that begin or end a transaction without saying so.
class SQLMariaDBTest < Minitest::Test
  include SQLCase
  include SQLCase::OnMariaDB

  INSERT = "INSERT INTO things (name) VALUES (?)"

  def server = Servers::MariaDB.shared

  def teardown
    %w[leaves fails].each { |name| @admin.execute("DROP PROCEDURE IF EXISTS #{name}") }
    @admin.execute("DROP TABLE IF EXISTS more_things")
    super
  end

  def test_a_statement_that_commits_by_itself_ends_the_transaction_with_an_error
    sql = client
    error = assert_raises(Elah::SQL::Error) do
      sql.transaction do |tx|
        tx.execute(INSERT, "before")
        told = outcome { tx.execute("CREATE TABLE more_things (id int)") }
        assert_match(/ended the transaction with this statement, and stored what came before/, told.message)
        assert_equal told.message, outcome { tx.execute(INSERT, "after") }.message, "nothing is stored by itself"
      end
    end
    assert_match(/ended the transaction/, error.message)
    assert_equal ["before"], @admin.rows("SELECT name FROM things").flatten
    assert_equal 0, sql.status[:in_use]
  end

  def test_a_temporary_table_leaves_the_transaction_open
    client.transaction do |tx|
      tx.execute("CREATE TEMPORARY TABLE more_things (id int)")
      tx.execute(INSERT, "a")
    end
    assert_equal 1, @admin.value("SELECT count(*) FROM things")
  end

  # Behind a name with several addresses, the connection of the same number at another server was killed.
  def test_a_statement_is_not_killed_at_another_server
    Servers::MariaDB.start do |first|
      Servers::MariaDB.start do |second|
        CuttingProxy.start(first.port) do |proxy|
          10.times { opened(first.url) }
          sql = opened(first.url.sub(":#{first.port}", ":#{proxy.port}"), query_seconds: 1)
          number = sql.value(connection_id_sql)
          other = opened(second.url)
          other = opened(second.url) until other.value(connection_id_sql) == number
          proxy.server_port = second.port
          assert_raises(Elah::QueryTimeout) { sql.value(sleep_sql(30)) }
          wait_until("its end was tried") { Elah::Clients::SQL.interrupts.zero? }
          assert_equal number, other.value(connection_id_sql), "the connection is the same"
        end
      end
    end
  end

  def opened(url, **bounds)
    Elah::SQL.new(url, connections_max: 1, **bounds).tap do |sql|
      @clients << sql
      sql.value("SELECT 1")
    end
  end

  def test_a_procedure_that_leaves_a_transaction_open_leaves_it_to_nobody
    @admin.execute("CREATE PROCEDURE leaves() BEGIN START TRANSACTION; INSERT INTO things (name) VALUES ('left'); END")
    sql = client(connections_max: 1)
    error = assert_raises(Elah::SQL::Error) { sql.execute("CALL leaves()") }
    assert_match(/left a transaction open, which is rolled back/, error.message)
    sql.execute(INSERT, "a")
    assert_equal ["a"], @admin.rows("SELECT name FROM things").flatten
  end

  def test_a_procedure_that_fails_in_its_transaction_leaves_it_to_nobody
    @admin.execute("CREATE PROCEDURE fails() BEGIN START TRANSACTION; " \
                   "INSERT INTO things (name) VALUES ('left'); SELECT missing; END")
    sql = client(connections_max: 1)
    assert_raises(Elah::SQL::SyntaxError) { sql.execute("CALL fails()") }
    sql.execute(INSERT, "a")
    assert_equal ["a"], @admin.rows("SELECT name FROM things").flatten
  end

  # A statement that the server cannot prepare is sent as text. So was a CALL whose procedure had met such a statement,
  # after its first run.
  def test_a_procedure_that_meets_a_statement_that_cannot_be_prepared_runs_once
    sql = client(connections_max: 1)
    @admin.execute("CREATE PROCEDURE fails() BEGIN INSERT INTO things (name) VALUES (NULL); " \
                   "PREPARE one FROM 'DEALLOCATE PREPARE other'; END")
    assert_equal 1295, assert_raises(Elah::SQL::Error) { sql.execute("CALL fails()") }.number
    assert_equal 1, sql.value("SELECT count(*) FROM things")
    sql.execute("PREPARE one FROM 'SELECT 1'")
    assert_equal 1, sql.value("EXECUTE one")
  end

  # Each call left its statement on the server, until the server refused to prepare any more, for everybody.
  def test_statements_that_are_not_kept_are_closed
    sql = client(connections_max: 1, statements_max: 0)
    prepared = -> { @admin.rows("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'").first.last.to_i }
    before = prepared.call
    50.times { |number| assert_equal number, sql.value("SELECT ?", number) }
    50.times { |number| assert_equal [{ "n" => number }], sql.each_row("SELECT ? AS n", number).to_a }
    50.times { assert_raises(Elah::SQL::Error) { sql.value("SELECT (SELECT 1 UNION SELECT ?)", 2) } }
    assert_operator prepared.call - before, :<, 10
  end

  # They are sent as texts, with which the server computes as floating-point numbers: digits of amounts were lost.
  def test_the_server_computes_exactly_with_decimals_and_large_integers
    @admin.execute("CREATE TABLE more_things (name varchar(40), amount decimal(30, 2), n bigint unsigned)")
    sql = client
    sql.execute("INSERT INTO more_things VALUES (?, ?, ?)",
                BigDecimal("1.5"), BigDecimal("12345678901234567.89"), (2**64) - 1)
    sql.execute("UPDATE more_things SET amount = amount + ?, n = ? - 1 WHERE amount > ?",
                BigDecimal("0.10"), (2**64) - 1, BigDecimal("12345678901234567.88"))
    assert_equal [["1.5", BigDecimal("12345678901234567.99"), (2**64) - 2]], sql.rows("SELECT * FROM more_things")
    assert_equal 1, sql.value("SELECT ? = ? + ?", BigDecimal("0.3"), BigDecimal("0.1"), BigDecimal("0.2"))
    assert_equal [BigDecimal("2.25"), 2**64], sql.rows("SELECT ? * 1.5, ? - 1", BigDecimal("1.5"), (2**64) + 1).first
    assert_equal ["1.5!"], sql.rows("SELECT concat(?, '!')", BigDecimal("1.5")).first
    sql.each_row("SELECT amount - ? AS rest FROM more_things", BigDecimal("0.09")) do |row|
      assert_equal BigDecimal("12345678901234567.90"), row["rest"]
    end
  end

  # The server shows the beginning of a long text.
  def test_a_long_value_that_does_not_fit_is_not_shown
    error = assert_raises(Elah::SQL::Error) { client.execute("INSERT INTO things (id) VALUES (?)", "hunter2" * 40) }
    refute_match(/hunter2/, error.message)
    error = assert_raises(Elah::SQL::SyntaxError) { client.query("SELECT nothing FROM things WHERE id = ?", "nothing") }
    assert_match(/column 'nothing'/, error.message)
  end

  # The server stored the zero date, and compared with it.
  def test_a_year_that_the_server_does_not_know_is_refused
    sql = client
    [Date.new(10_000, 1, 1), Date.new(-1, 1, 1), Time.utc(20_026)].each do |moment|
      error = assert_raises(Elah::SQL::Error) { sql.value("SELECT ? < now()", moment) }
      assert_match(/year (10000|-1|20026), and the server knows the years 0 to 9999/, error.message)
    end
    assert_equal 1, sql.value("SELECT ? < now()", Date.new(0, 1, 1))
  end

  def test_a_connection_without_autocommit_goes_to_nobody
    sql = client(connections_max: 1)
    assert_raises(Elah::SQL::Error) { sql.execute("SET autocommit = 0") }
    sql.transaction { |tx| tx.execute("SET autocommit = 0") && tx.execute(INSERT, "a") }
    sql.execute(INSERT, "b")
    assert_equal %w[a b], @admin.rows("SELECT name FROM things ORDER BY id").flatten
  end
end
