# frozen_string_literal: true

require_relative "../support/sql_case"
require "open3"
require "timeout"

# What goes wrong with a database, done to a real one: each is an error with a stable code, and no connection is left
# behind.
module SQLBadDays
  def test_a_server_that_is_stopped_is_unavailable_and_used_again_when_it_is_back
    sql = client
    assert_equal 1, sql.value("SELECT 1")
    server.stop
    2.times do
      error = assert_raises(Elah::Unavailable) { sql.value("SELECT 1") }
      assert_equal "store_unavailable", error.code
      assert_includes error.message, server.address
    end
    server.start
    assert_equal 1, once_available { sql.value("SELECT 1") }
  ensure
    server.start unless server.running?
  end

  def test_a_server_that_was_killed_and_started_again_is_used_again
    sql = client
    sql.value("SELECT 1")
    server.kill
    server.start
    assert_equal 1, once_available { sql.value("SELECT 1") }
  ensure
    server.start unless server.running?
  end

  def test_a_server_that_says_nothing_is_given_up_and_used_again_when_it_speaks
    sql = client(query_seconds: 0.3, connect_seconds: 0.3)
    once_available { sql.value("SELECT 1") }
    server.pause
    error = assert_raises(Elah::QueryTimeout) { sql.value("SELECT 2") }
    assert_equal "query_timeout", error.code
    assert_equal "#{sql.server} did not reply within 0.3 s. In: SELECT 2", error.message
    error = nil
    assert_operator measure { error = assert_raises(Elah::Unavailable) { sql.value("SELECT 3") } }, :<, 20
    assert_equal "#{sql.server} cannot be reached: no reply within 0.3 s.", error.message
    server.resume
    assert_equal 4, once_available { sql.value("SELECT 4") }
    wait_until("one connection is left") { connections == 1 }
  ensure
    server.resume
  end

  # The call checked all idle connections in turn, and waited for each until `connect_seconds` were over.
  def test_a_call_checks_one_idle_connection_of_a_silent_server
    sql = client(connections_max: 8, connect_seconds: 2)
    wait_until("all connections are idle") do
      Array.new(8) { Thread.new { once_available { sql.value(sleep_sql(0.2)) } } }.each(&:join)
      sql.status[:idle] == 8
    end
    idle_since = monotonic
    wait_until("they are checked before use") { monotonic - idle_since > 1 }
    server.pause
    taken = measure { assert_raises(Elah::Unavailable) { sql.value("SELECT 1") } }
    assert_operator taken, :<, 11, "one check and one attempt to connect take 4 s, and eight checks 16 s"
  ensure
    server.resume
  end

  # The reply to ROLLBACK was waited for as long as for any statement.
  def test_a_rollback_does_not_wait_for_a_silent_server
    sql = client(query_seconds: 3600)
    assert_raises(Elah::DeadlineExceeded) do
      Elah.run do
        Elah.timeout(1) do
          sql.transaction { |tx| tx.value("SELECT 1") && server.pause && Thread::Queue.new.pop }
        end
      end
    end
  ensure
    server.resume
  end

  # The statement went on when the process of its client had ended, and was stored.
  def test_a_statement_that_was_given_up_is_not_stored_after_the_end_of_its_process
    sql = client
    sql.execute("INSERT INTO things (name) VALUES ('before')")
    script = <<~'RUBY'
      sql = Elah::SQL.new(ARGV.first, query_seconds: 0.5)
      begin
        sql.execute("UPDATE things SET name = 'after'")
      rescue Elah::QueryTimeout
        exit 7
      end
    RUBY
    sql.transaction do |tx|
      tx.value("SELECT name FROM things FOR UPDATE")
      6.times do
        _, status = Open3.capture2e(RbConfig.ruby, "-Ilib", "-relah", "-e", script, server.url)
        assert_equal 7, status.exitstatus
      end
    end
    wait_until("nobody waits for the row") { @admin.value(updates_sql).zero? }
    assert_equal "before", sql.value("SELECT name FROM things")
  end

  # The process looked for statements that were to be ended before its other thread had let go of them. A signal that
  # ended the wait of the only thread skipped what lets go of them.
  %w[TERM ALRM].each do |signal|
    define_method(:"test_a_statement_that_was_cancelled_by_#{signal}_is_not_stored_after_the_end_of_its_process") do
      @admin.execute("INSERT INTO things (name) VALUES ('before')")
      script = <<~'RUBY'
        trap(:ALRM) { raise "given up" }
        sql = Elah::SQL.new(ARGV[0])
        sql.value("SELECT 1")
        $stdout.syswrite("ready")
        sql.execute("UPDATE things SET name = 'after'")
      RUBY
      client.transaction do |tx|
        tx.value("SELECT name FROM things FOR UPDATE")
        6.times { ended_while_it_waits(script, signal) }
      end
      wait_until("nobody waits for the row") { @admin.value(updates_sql).zero? }
      assert_equal "before", @admin.value("SELECT name FROM things")
    end
  end

  def ended_while_it_waits(script, signal)
    Open3.popen2(RbConfig.ruby, "-Ilib", "-relah", "-e", script, server.url, err: File::NULL) do |_, out, process|
      out.readpartial(5)
      wait_until("it waits for the row") { @admin.value(updates_sql).positive? }
      Process.kill(signal, process.pid)
      process.join
    end
  end

  # Ruby 3.1 hands on signals in a thread that waits for Ruby. With the only one gone, the statement went on to its end.
  def test_a_signal_that_a_thread_sends_as_it_ends_cuts_a_statement
    script = <<~'RUBY'
      Thread.new { sleep 0.5; Process.kill(:TERM, Process.pid) }
      Elah::SQL.new(ARGV[0], query_seconds: 60).query(ARGV[1])
    RUBY
    taken = measure do
      arguments = ["-e", script, server.url, sleep_sql(30)]
      _, status = Open3.capture2e(RbConfig.ruby, "-Ilib", "-relah", *arguments)
      assert_equal Signal.list["TERM"], status.termsig
    end
    assert_operator taken, :<, 20, "the statement takes 30 s"
  end

  def test_a_slow_server_holds_up_nobody_but_those_who_asked_it
    sql = client
    ticks = 0
    taken = measure do
      in_fibers(11) do |number|
        number == 10 ? 10.times { ticks += 1 if @admin.value("SELECT 1") } : sql.query(sleep_sql(1))
      end
    end
    assert_operator taken, :<, 8, "one after the other takes 10 s"
    assert_equal 10, ticks
  end

  def test_a_server_that_has_no_connection_left_is_unavailable
    settings = if server.is_a?(Servers::PostgreSQL)
                 { "max_connections" => 5, "superuser_reserved_connections" => 1 }
               else
                 { "max-connections" => 10 }
               end
    server.class.start(settings: settings) do |small|
      sql = Elah::SQL.new(small.url, connections_max: 16)
      outcomes = in_fibers(16) { outcome { sql.query(sleep_sql(0.5)) } }
      refused = outcomes.grep(Elah::Unavailable)
      assert_operator refused.size, :>=, 4
      assert_match(/too many/i, refused.first.message)
      assert_equal 16, refused.size + outcomes.count(:done)
      assert_equal 1, once_available { sql.value("SELECT 1") }
      sql.close
    end
  end

  def test_a_connection_that_is_killed_in_mid_answer_is_lost_and_replaced
    sql = client
    id = nil
    thread = Thread.new do
      sql.transaction do |tx|
        id = tx.value(connection_id_sql)
        tx.query(sleep_sql(60))
      end
    rescue Elah::Error => e
      e
    end
    wait_until("it sleeps") { @admin.value(sleepers_sql) == 1 }
    @admin.query(kill_sql(id))
    error = thread.value
    assert_instance_of Elah::Unavailable, error
    assert_equal "store_unavailable", error.code
    assert_includes error.message, "was lost"
    refute_equal id, sql.value(connection_id_sql)
    wait_until("one connection is left") { connections == 1 }
  end

  def test_rows_that_break_off_are_an_error_and_not_the_end
    sql = client
    id = nil
    error = assert_raises(Elah::Unavailable) do
      sql.transaction do |tx|
        id = tx.value(connection_id_sql)
        tx.each_row(series_sql(2_000_000)) { |row| @admin.query(kill_sql(id)) if row["n"] == 1 }
      end
    end
    assert_includes error.message, "was lost"
    assert_equal 1, sql.value("SELECT 1")
  end

  def test_an_exhausted_pool_is_said_to_be
    sql = client(connections_max: 1, pool_seconds: 0.2)
    sql.transaction do |_tx|
      error = assert_raises(Elah::PoolExhausted) { sql.value("SELECT 1") }
      assert_equal ["pool_exhausted", 503], [error.code, error.status]
      assert_equal "None of the 1 connections to #{sql.server} became free within 0.2 s.", error.message
    end
    assert_equal 1, sql.value("SELECT 1")
  end

  def test_a_line_that_is_too_long_is_refused_at_once
    sql = client(connections_max: 1, waiters_max: 0, pool_seconds: 60)
    sql.transaction do |_tx|
      error = assert_raises(Elah::PoolExhausted) { sql.value("SELECT 1") }
      assert_equal "All 1 connections to #{sql.server} are in use, and 0 callers wait for one.", error.message
    end
  end

  def test_a_wrong_password_is_no_outage_and_is_not_shown
    sql = Elah::SQL.new(server.url.sub("secret", "hunter2"))
    error = assert_raises(Elah::SQL::AuthenticationFailed) { sql.value("SELECT 1") }
    assert_equal "authentication_failed", error.code
    assert_match(/\A28/, error.sqlstate)
    refute_match(/hunter2/, error.message + sql.inspect)
    sql.close
  end

  def test_a_database_that_is_not_there
    sql = Elah::SQL.new(server.url.sub(%r{/test\z}, "/nowhere"))
    error = assert_raises(Elah::SQL::AuthenticationFailed) { sql.value("SELECT 1") }
    assert_includes error.message, "nowhere"
    sql.close
  end

  def test_a_query_that_never_ends_is_ended_on_the_server
    sql = client(query_seconds: 0.3)
    assert_raises(Elah::QueryTimeout) { sql.query(sleep_sql(1000)) }
    wait_until("nothing sleeps") { @admin.value(sleepers_sql).zero? }
    wait_until("no connection is left") { connections.zero? }
    wait_until("the pool is whole") { sql.status == { in_use: 0, idle: 0, waiting: 0, connections_max: 10 } }
    assert_equal(1, once_available { sql.value("SELECT 1") })
  end

  def test_a_stream_whose_server_falls_silent_is_given_up
    sql = client(query_seconds: 0.3)
    assert_raises(Elah::QueryTimeout) { sql.each_row(sleep_sql(1000)) { flunk } }
    wait_until("no connection is left") { connections.zero? }
  end

  def test_a_fiber_that_is_ended_in_a_statement_of_a_transaction_leaves_nothing
    sql = client
    Elah.run do
      assert_raises(Timeout::Error) do
        Timeout.timeout(0.2) do
          sql.transaction do |tx|
            tx.execute("INSERT INTO things (name) VALUES (?)", "lost")
            tx.query(sleep_sql(60))
          end
        end
      end
    end
    wait_until("nothing sleeps") { @admin.value(sleepers_sql).zero? }
    wait_until("no connection is left") { connections.zero? }
    assert_equal 0, @admin.value("SELECT count(*) FROM things")
  end

  # The statement ran on, and the rollback waited for it, or for all of its rows: as long as a statement may take.
  def test_a_fiber_that_is_ended_while_it_reads_rows_of_a_transaction_leaves_nothing
    sql = client(query_seconds: 60)
    reads = [->(tx) { tx.each_row(sleep_sql(60)) { flunk } },
             ->(tx) { tx.transaction { tx.each_row(sleep_sql(60)) { flunk } } },
             ->(tx) { tx.each_row(endless_sql) { Thread::Queue.new.pop } }]
    since = monotonic
    Elah.run do
      reads.each { |read| assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.2) { sql.transaction(&read) } } }
      assert_raises(IOError) { sql.transaction { |tx| tx.each_row(endless_sql) { |row| raise IOError if row } } }
    end
    assert_operator monotonic - since, :<, 60
    wait_until("nothing sleeps") { @admin.value(sleepers_sql).zero? }
    wait_until("no connection is left") { connections.zero? && sql.status[:in_use].zero? }
  end

  def test_a_fiber_that_is_ended_between_two_statements_rolls_back_and_its_connection_is_clean
    sql = client(connections_max: 1)
    Elah.run do
      id = sql.value(connection_id_sql)
      inserted = Thread::Queue.new
      fiber = Elah.async do
        sql.transaction do |tx|
          tx.execute("INSERT INTO things (name) VALUES (?)", "lost")
          inserted << true
          Thread::Queue.new.pop # for ever
        end
      end
      inserted.pop
      assert_raises(Elah::Cancelled) { fiber.cancel.value }
      assert_equal id, sql.value(connection_id_sql), "the connection is used again"
      assert_equal 0, sql.value("SELECT count(*) FROM things")
      sql.execute("INSERT INTO things (name) VALUES (?)", "kept")
    end
    assert_equal 1, @admin.value("SELECT count(*) FROM things")
  end

  def test_a_thread_that_is_killed_in_a_transaction_leaves_nothing
    sql = client
    thread = Thread.new do
      sql.transaction do |tx|
        tx.execute("INSERT INTO things (name) VALUES (?)", "lost")
        tx.query(sleep_sql(60))
      end
    end
    wait_until("it sleeps") { @admin.value(sleepers_sql) == 1 }
    thread.kill.join
    wait_until("no connection is left") { connections.zero? }
    assert_equal 0, @admin.value("SELECT count(*) FROM things")
  end

  def test_five_thousand_fibers_wait_in_line_for_ten_connections
    sql = client(pool_seconds: 30)
    most = 0
    order = in_fibers(5000) do |number|
      assert_equal 1, sql.value("SELECT 1")
      most = [most, sql.status[:in_use]].max
      number
    end
    assert_equal 5000, order.uniq.size
    assert_operator most, :<=, 10
    displaced = order.each_with_index.sum { |number, place| (number - place).abs } / order.size
    assert_operator displaced, :<, 200, "who came first is served first; at random it would be 1667 places"
  end

  def test_five_thousand_fibers_that_wait_for_nothing_are_told_so
    sql = client(pool_seconds: 0.5)
    outcomes = in_fibers(5000) { |number| outcome { sql.query(number < 10 ? sleep_sql(1.5) : "SELECT 1") } }
    assert_equal({ done: 10, Elah::PoolExhausted => 4990 },
                 outcomes.map { |one| one.is_a?(Symbol) ? one : one.class }.tally)
    assert_equal 1, sql.value("SELECT 1")
  end

  def test_what_the_server_refuses_leaves_the_connection_in_use
    sql = client(connections_max: 1)
    id = sql.value(connection_id_sql)
    { "SELECT nothing FROM things" => /nothing/,
      "SELEC 1" => /SELEC/i,
      "SELECT * FROM nowhere" => /nowhere/ }.each do |statement, named|
      error = assert_raises(Elah::SQL::SyntaxError) { sql.query(statement) }
      assert_equal "syntax_error", error.code
      assert_match(/\A42/, error.sqlstate)
      assert_match(named, error.message)
      assert_includes error.message, sql.server
      assert error.message.end_with?("In: #{statement}"), error.message
    end
    assert_equal id, sql.value(connection_id_sql)
  end
end

SQLCase.on_each_server(SQLBadDays)
