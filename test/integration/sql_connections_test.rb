# frozen_string_literal: true

require_relative "../support/sql_case"

# How each server is reached, and when a connection ends.
module SQLConnections
  def test_a_unix_socket_does_as_well
    sql = client(server.socket_url)
    assert_equal [1, "a"], [sql.execute("INSERT INTO things (name) VALUES (?)", "a").affected_rows,
                            @admin.value("SELECT name FROM things")]
    assert_includes sql.server, server.folder
    impatient = client(server.socket_url, query_seconds: 0.2)
    assert_raises(Elah::QueryTimeout) { impatient.value(sleep_sql(60)) }
    wait_until("the statement to be ended on the server") { @admin.value(sleepers_sql).zero? }
  end

  def test_a_unix_socket_that_is_not_there
    error = assert_raises(Elah::Unavailable) do
      client(server.socket_url.sub(server.folder, "/nowhere")).value("SELECT 1")
    end
    assert_match(%r{\A/nowhere/.*cannot be reached}, error.message)
    refute_includes error.message, "secret"
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
      { "require" => true, "prefer" => true, "disable" => false,
        "verify-full&sslrootcert=#{secure.ca_file}" => true }.each do |mode, is_encrypted|
        sql = Elah::SQL.new("#{secure.url}?sslmode=#{mode}")
        assert_equal is_encrypted, encrypted?(sql), mode
        sql.close
      end
      other = server.class.start(tls: true)
      sql = Elah::SQL.new("#{secure.url}?sslmode=verify-full&sslrootcert=#{other.ca_file}")
      error = assert_raises(Elah::Unavailable) { sql.value("SELECT 1") }
      assert_match(/certificate/i, error.message)
      sql.close
      # On PostgreSQL it was an OptionError: a file that is being replaced, or no free descriptor, passes.
      sql = Elah::SQL.new("#{secure.url}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem")
      assert_raises(Elah::Unavailable) { sql.value("SELECT 1") }
      sql.close
    ensure
      other&.remove
    end
    sql = Elah::SQL.new("#{server.url}?sslmode=require")
    assert_raises(Elah::Unavailable) { sql.value("SELECT 1") }
    sql.close
  end

  private

  def encrypted?(sql)
    return sql.value("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") if sql.postgres?

    sql.first("SHOW STATUS LIKE 'Ssl_cipher'")["Value"] != ""
  end
end

SQLCase.on_each_server(SQLConnections)
