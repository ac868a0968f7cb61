# frozen_string_literal: true

require "open3"
require_relative "../support/sql_case"

# What transactions do on each server.
module SQLTransactions
  def test_two_transactions_that_wait_for_each_other_are_told
    sql = client
    2.times { |number| sql.execute("INSERT INTO things (name) VALUES (?)", number.to_s) }
    outcomes = deadlock(sql) do |tx, mine, other|
      tx.execute("UPDATE things SET name = ? WHERE id = ?", "y#{mine}", other)
    end
    assert_equal [:done, "serialization_failure"], codes(outcomes)
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
      assert_raises(Elah::SQL::UniqueViolation) do
        tx.transaction { tx.execute(insert, "c") && tx.execute(insert, "a") }
      end
      assert_raises(RuntimeError) { tx.transaction { tx.transaction { tx.execute(insert, "d") } and raise } }
    end
    assert_equal %w[a b], sql.rows("SELECT name FROM things ORDER BY id").flatten
  end

  # PostgreSQL replies to COMMIT with success after a failed statement, although it rolls back. MariaDB undoes that
  # statement alone.
  def test_a_transaction_that_the_server_rolled_back_is_never_said_to_be_committed
    sql = client
    insert = "INSERT INTO things (name) VALUES (?)"
    error = outcome do
      sql.transaction do |tx|
        tx.execute(insert, "a")
        assert_raises(Elah::SQL::UniqueViolation) { tx.execute(insert, "a") }
      end
    end
    if sql.postgres?
      assert_instance_of Elah::SQL::RolledBack, error
      assert_equal %w[transaction_rolled_back 23505], [error.code, error.sqlstate]
      assert_match(/has rolled the transaction back: a statement failed with 23505: .* In: INSERT INTO things/,
                   error.message)
    else
      assert_equal :done, error
    end
    assert_equal (sql.postgres? ? [] : ["a"]), sql.rows("SELECT name FROM things").flatten
    assert_equal [0, 1], sql.status.values_at(:in_use, :idle)
  end

  def test_a_transaction_goes_on_after_an_error_that_a_savepoint_of_its_own_undid
    sql = client
    insert = "INSERT INTO things (name) VALUES (?)"
    sql.transaction do |tx|
      tx.execute(insert, "a")
      tx.execute("SAVEPOINT mine")
      assert_raises(Elah::SQL::UniqueViolation) { tx.execute(insert, "a") }
      tx.execute("ROLLBACK TO SAVEPOINT mine")
    end
    assert_equal ["a"], sql.rows("SELECT name FROM things").flatten
  end

  # The savepoint could not be undone on a connection that was given up, or after MariaDB had ended the transaction, and
  # that error replaced the one that ended the block: what rescues SerializationFailure to try again did not.
  def test_what_ends_a_nested_transaction_comes_out_of_it
    sql = client(query_seconds: 0.2)
    slow = ->(tx) { tx.transaction { tx.value(sleep_sql(30)) } }
    assert_raises(Elah::QueryTimeout) { sql.transaction(&slow) }
    assert_raises(Timeout::Error) { Elah.run { Timeout.timeout(0.05) { sql.transaction(&slow) } } }
    patient = client
    2.times { |number| patient.execute("INSERT INTO things (name) VALUES (?)", number.to_s) }
    outcomes = deadlock(patient) do |tx, mine, other|
      tx.transaction { tx.execute("UPDATE things SET name = ? WHERE id = ?", "y#{mine}", other) }
    end
    assert_equal [:done, "serialization_failure"], codes(outcomes)
  end

  # Their savepoints were on one stack: the failure of one undid rows of others that had returned, and the transaction
  # was committed without them.
  def test_nested_transactions_of_several_fibers_lose_nothing_that_was_confirmed
    sql = client
    insert = "INSERT INTO things (name) VALUES (?)"
    Elah.run do
      confirmed = sql.transaction do |tx|
        entered = Queue.new
        fails = Elah.async { tx.transaction { tx.execute(insert, "undone") && entered.pop && raise(IOError) } }
        calls = [-> { tx.transaction { tx.execute(insert, "nested") } }, -> { tx.execute(insert, "plain") }]
        refused = calls.map { |call| assert_raises(Elah::SQL::Error, &call).message }
        assert_equal 1, refused.grep(/\AAnother fiber has a nested transaction open/).uniq.size
        entered << true
        assert_instance_of IOError, fails.wait.error
        calls.each(&:call)
        [tx.transaction { Elah.async { tx.execute(insert, "of a child") }.value.affected_rows }]
      end
      assert_equal [1], confirmed
    end
    assert_equal ["nested", "of a child", "plain"], sql.rows("SELECT name FROM things ORDER BY name").flatten
  end

  # A commit in between stored a part of what the block undid afterwards.
  def test_a_transaction_is_not_committed_in_the_middle_of_a_nested_one
    sql = client
    Elah.run do
      inside, go_on = Array.new(2) { Queue.new }
      nested = nil
      error = outcome do
        sql.transaction do |tx|
          part = ->(_) { tx.execute("INSERT INTO things (name) VALUES ('part')") && (inside << true) && go_on.pop }
          nested = Elah.async(detached: true) { tx.transaction(&part) }
          inside.pop
        end
      end
      assert_match(/\AAnother fiber has a nested transaction open/, error.message)
      go_on << true
      assert_match(/The transaction is over/, nested.wait.error&.message)
    end
    assert_empty sql.rows("SELECT name FROM things")
  end

  # The statement waited for the end of the block that called it: for ever, beyond any time limit, with its locks.
  def test_a_statement_in_the_block_that_reads_rows_is_refused
    sql = client
    calls = [->(tx) { tx.value("SELECT 1") }, ->(tx) { tx.each_row("SELECT 1") { nil } },
             ->(tx) { tx.transaction { nil } }]
    other_fiber = ->(tx) { Elah.async { tx.value("SELECT 1") }.value } # stood still if there were many rows
    each_way do
      [*calls, *(other_fiber if Elah.current_loop)].each do |call|
        error = outcome { sql.transaction { |tx| tx.each_row(series_sql(1000)) { call.(tx) } } }
        assert_match(/read all rows before you call the transaction again/, error.message)
      end
      assert_equal [1, 1000], sql.transaction { |tx| [tx.value("SELECT 1"), tx.each_row(series_sql(1000)).count] }
      wait_until("no connection is in use") { sql.value("SELECT 1") && sql.status[:in_use].zero? }
    end
  end

  # An earlier child of the fiber that reads, as one of `Elah.every` or one that had failed, made it wait for ever: the
  # fiber waited for the rows, and these for it.
  def test_a_fiber_of_the_block_that_reads_rows_is_refused_beside_earlier_ones
    sql = client
    never = Queue.new
    starts = [-> { Elah.async { never.pop } }, -> { Elah.every(900) { nil } }, -> { Elah.async { raise IOError }.wait }]
    Elah.run do
      starts.each do |start|
        earlier = start.call
        refusal = nil
        read = ->(tx, &block) { tx.each_row(series_sql(1000)) { refusal ||= Elah.async(&block).wait.error } }
        Elah.timeout(patience_seconds) { sql.transaction { |tx| read.call(tx) { tx.value("SELECT 1") } } }
        assert_match(/read all rows before you call the transaction again/, refusal.message)
        refute_nil earlier.cancel.wait.error
      end
    end
  end

  # A child of before, even one that had failed, made all fibers of the block strangers.
  def test_fibers_of_a_nested_transaction_may_use_it_beside_earlier_ones
    sql = client
    Elah.run do
      gate = Queue.new
      sql.transaction do |tx|
        earlier = Elah.async { gate.pop && tx.value("SELECT 1") }
        failed = Elah.async { raise IOError }.wait
        refusal = tx.transaction do
          assert_equal 2, Elah.async { tx.value("SELECT 2") }.value
          assert_equal [3], Elah.gather { |g| g.call(:in_a_gather) { tx.value("SELECT 3") } }.values
          gate << true
          earlier.wait.error
        end
        assert_instance_of IOError, failed.error
        assert_match(/\AAnother fiber has a nested transaction open/, refusal.message)
      end
    end
  end

  # The end of the transaction waited for rows that nobody read any more.
  def test_an_enumerator_of_rows_ends_with_its_transaction
    sql = client
    each_way do
      first = sql.transaction { |tx| tx.each_row(series_sql(100_000)).next }
      assert_equal({ "n" => 1 }, first)
      nested = sql.transaction { |tx| tx.transaction { tx.each_row(series_sql(100_000)).next } && tx.value("SELECT 2") }
      assert_equal 2, nested
      assert_raises(IOError) { sql.transaction { |tx| tx.each_row(series_sql(100_000)).next && raise(IOError) } }
      wait_until("the connection is closed") { sql.status[:in_use].zero? }
    end
  end

  # The transaction waited for the rows of another fiber's Enumerator before it ended: for ever, with its locks.
  def test_rows_that_another_fiber_has_left_end_with_the_transaction
    sql = client
    rows = nil
    read_one = ->(tx) { (rows = tx.each_row(series_sql(100_000))).next }
    ended = Thread.new do
      Elah.run do
        assert_equal({ "n" => 1 }, sql.transaction { |tx| Elah.async { read_one.call(tx) }.value })
        error = assert_raises(Elah::SQL::Error) { 1000.times { rows.next } }
        assert_equal "The transaction has ended before all of its rows were read.", error.message
        assert_raises(IOError) { sql.transaction { |tx| Elah.async { read_one.call(tx) }.value && raise(IOError) } }
      end
    end
    assert ended.join(patience_seconds), "the transaction waits"
    wait_until("the connection is closed") { sql.status[:in_use].zero? }
  end

  # The rollback waited for the statement whose rows the other fiber awaits. That fiber must not take what is cut off
  # for the end of the rows.
  def test_rows_that_another_fiber_awaits_end_with_a_rollback
    sql = client(query_seconds: 60)
    Elah.run do
      reader = nil
      assert_raises(IOError) do
        sql.transaction do |tx|
          reader = Elah.async { tx.each_row(sleep_sql(60)) { flunk } }
          wait_until("it sleeps") { @admin.value(sleepers_sql) == 1 }
          raise IOError
        end
      end
      assert_equal "The transaction has ended before all of its rows were read.", reader.wait.error&.message
    end
  end

  # Cut off before they came to the fiber that had asked for them, they were none, without an error.
  def test_rows_that_a_rollback_cuts_off_at_once_are_not_taken_for_none
    sql = client
    Elah.run do
      20.times do
        reader = nil
        assert_raises(IOError) do
          sql.transaction { |tx| (reader = Elah.async { tx.each_row(endless_sql) { flunk } }) && raise(IOError) }
        end
        assert_match(/\AThe transaction (has ended before all of its rows were read|is over)/,
                     reader.wait.error&.message)
      end
    end
  end

  # The error spoke of an earlier statement that had failed.
  def test_a_transaction_whose_rows_are_left_is_lost_after_the_time_of_a_statement
    sql = client(query_seconds: 3) # BEGIN and the INSERT have as long, on a busy machine too
    error = assert_raises(Elah::Unavailable) do
      sql.transaction do |tx|
        tx.execute("INSERT INTO things (name) VALUES ('lost')")
        tx.each_row(endless_sql).first(3)
      end
    end
    assert_match(/its unread rows took longer than 3 s. In: SELECT/, error.message)
    assert_equal 0, @admin.value("SELECT count(*) FROM things")
  end

  # The rollback on the dead connection failed: its error replaced the block's own, and a 503 a 409.
  def test_a_lost_connection_does_not_change_how_the_block_ends
    sql = client
    lose = lambda do |tx|
      @admin.query(kill_sql(tx.value(connection_id_sql)))
      wait_until("the connection is gone") { connections.zero? }
    end
    assert_raises(KeyError) { sql.transaction { |tx| lose.call(tx) || raise(KeyError) } }
    assert_equal(:left, sql.transaction { |tx| break lose.call(tx) || :left })
    assert_equal(:thrown, catch(:out) { sql.transaction { |tx| throw :out, lose.call(tx) || :thrown } })
    assert_raises(Elah::Unavailable) { sql.transaction { |tx| lose.call(tx) } }
  end

  # The child closed its copy of the connection when it ended, which took the socket out of the event queue that it
  # shares with its parent: on MariaDB the next statement ran, and its reply was not seen.
  def test_a_fork_leaves_the_transactions_of_its_parent
    script = <<~RUBY
      sql = Elah::SQL.new(ARGV.first, query_seconds: 20)
      counted = -> do
        sql.transaction do |tx|
          tx.execute("INSERT INTO things (name) VALUES (NULL)")
          Process.wait(fork { exit })
          tx.value("SELECT count(*) FROM things")
        end
      end
      print counted.call, Elah.run(&counted)
    RUBY
    out, status = Open3.capture2e(RbConfig.ruby, "-Ilib", "-relah", "-e", script, server.url)
    assert_equal ["12", true], [out, status.success?]
  end

  # MariaDB has ended the transaction of the one that it refuses: what follows would be stored at once.
  def test_a_transaction_that_lost_a_deadlock_stores_nothing_more
    sql = client
    2.times { |number| sql.execute("INSERT INTO things (name) VALUES (?)", number.to_s) }
    outcomes = deadlock(sql) do |tx, mine, other|
      tx.execute("UPDATE things SET name = ? WHERE id = ?", "y#{mine}", other)
    rescue Elah::SQL::SerializationFailure
      assert_raises(Elah::SQL::Error) { tx.execute("INSERT INTO things (name) VALUES ('after')") }
    end
    assert_equal [:done, "transaction_rolled_back"], codes(outcomes)
    assert_equal 0, sql.value("SELECT count(*) FROM things WHERE name = 'after'")
  end

  # On MariaDB, which undoes all of it, the error said that the transaction was over, and not why.
  def test_a_nested_transaction_that_lost_a_deadlock_tells_so
    sql = client
    2.times { |number| sql.execute("INSERT INTO things (name) VALUES (?)", number.to_s) }
    outcomes = deadlock(sql) do |tx, mine, other|
      tx.transaction { tx.execute("UPDATE things SET name = ? WHERE id = ?", "y#{mine}", other) }
    rescue Elah::SQL::SerializationFailure
      nil
    end
    assert_empty codes(outcomes) - [:done, "transaction_rolled_back"]
  end

  def test_a_transaction_begins_and_ends_by_the_client_only
    sql = client(connections_max: 1)
    ["BEGIN", "start transaction", "COMMIT", "ROLLBACK", "/* a */ -- b\n BEGIN"].each do |statement|
      assert_refused { sql.execute(statement) }
      assert_refused { sql.each_row(statement) { flunk } }
      assert_refused do
        sql.transaction { |tx| tx.execute("INSERT INTO things (name) VALUES (?)", statement) && tx.execute(statement) }
      end
    end
    assert_empty sql.rows("SELECT name FROM things")
    sql.execute("INSERT INTO things (name) VALUES ('a')")
    assert_equal ["a"], @admin.rows("SELECT name FROM things").flatten, "no transaction was left open"
  end

  # The cancellation arrives before the rollback has begun.
  def test_a_part_whose_rollback_is_cancelled_is_never_stored
    sql = client
    insert = "INSERT INTO things (name) VALUES (?)"
    error = nil
    cancelled do |cancel|
      sql.transaction do |tx|
        error = assert_raises(Elah::Cancelled) do
          tx.transaction { tx.execute(insert, "undone") && cancel.call && raise }
        end
        tx.execute(insert, "after")
      end
    end
    refute_nil error
    assert_empty sql.rows("SELECT name FROM things")
  end

  def test_a_transaction_whose_rollback_is_cancelled_is_over_at_once
    sql = client
    GC.disable
    insert = "INSERT INTO things (name) VALUES ('a')"
    cancelled { |cancel| sql.transaction { |tx| tx.execute(insert) && cancel.call && raise } }
    assert_equal 0, sql.status[:in_use]
    assert_equal 1, @admin.execute(insert).affected_rows, "no transaction holds the row"
  ensure
    GC.enable
  end

  # Nobody took it out once the other fiber was done: the connection stayed in the transaction, with its locks, until
  # the GC came.
  def test_a_transaction_whose_rollback_is_cancelled_while_another_fiber_uses_it_is_over
    sql = client
    GC.disable
    Elah.run do
      other = nil
      assert_raises(Elah::DeadlineExceeded) do
        Elah.timeout(0.05) do
          sql.transaction do |tx|
            tx.execute("INSERT INTO things (name) VALUES ('a')")
            other = Elah.async { tx.query(sleep_sql(0.3)) }
            raise IOError
          end
        end
      end
      other.wait
    end
    wait_until("no connection is in use") { sql.status[:in_use].zero? }
    assert_empty @admin.rows("SELECT name FROM things")
  ensure
    GC.enable
  end

  # A limit of the block lasted as long as the statement.
  def test_a_transaction_ends_while_another_fiber_of_it_has_a_statement
    sql = client
    started = monotonic
    Elah.run do
      assert_raises(Elah::DeadlineExceeded) do
        Elah.timeout(0.2) do
          sql.transaction do |tx|
            tx.execute("INSERT INTO things (name) VALUES (?)", "lost")
            Elah.async { tx.value(sleep_sql(patience_seconds)) }
            Thread::Queue.new.pop
          end
        end
      end
      assert_operator monotonic - started, :<, patience_seconds
      wait_until("the connection is free") { sql.status[:in_use].zero? }
      wait_until("the statement has ended") { @admin.value(sleepers_sql).zero? }
    end
    assert_empty sql.rows("SELECT name FROM things")
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

  private

  # Runs the block in a thread and in a fiber.
  def each_way(&block)
    yield
    Elah.run(&block)
  end

  # Two transactions, each of which has changed a row; the block changes that of the other.
  #
  # @return [Array<:done, Elah::Error>]
  def deadlock(sql)
    both = Queue.new
    [[1, 2], [2, 1]].map do |mine, other|
      Thread.new do
        outcome do
          sql.transaction do |tx|
            tx.execute("UPDATE things SET name = ? WHERE id = ?", "x#{mine}", mine)
            both << mine
            Thread.pass until both.size == 2
            yield tx, mine, other
          end
        end
      end
    end.map(&:value)
  end

  def codes(outcomes) = outcomes.map { |one| one == :done ? one : one.code }.sort_by(&:to_s)

  def assert_refused(&block)
    error = assert_raises(Elah::SQL::Error, &block)
    assert_match(/begins and ends transactions itself: use `transaction`/, error.message)
  end

  # Runs a block in a fiber that it can cancel while it runs.
  def cancelled
    Elah.run do
      begin_now = Queue.new
      fiber = Elah.async do
        cancelled = begin_now.pop
        yield -> { Elah.async { cancelled.cancel } }
      end
      begin_now << fiber
      fiber.wait
    end
  end
end

SQLCase.on_each_server(SQLTransactions)
