# frozen_string_literal: true

# ActiveRecord's pool on the loop, against the real servers: who has which connection, and what comes back.
require "test_helper"
require "support/gems"
return unless Gems.present?("activerecord", "pg", "mysql2")

require "active_record"
require "support/records_case"
require "support/slow_proxy"
require "timeout"

class ActiveRecordTest < Minitest::Test
  POOL = 10
  CHECKOUT_SECONDS = 5
  BASE = ActiveRecord::Base
  SLEEP = { "postgresql" => "SELECT 1 FROM pg_sleep(%s)", "mysql2" => "SELECT SLEEP(%s)" }.freeze

  def self.on_each_database(name, &block)
    RecordsCase::DATABASES.each do |adapter, server|
      define_method(:"test_#{name}_on_#{adapter}") do
        connect(adapter, server.shared)
        instance_exec(&block)
      ensure
        BASE.remove_connection
      end
    end
  end

  def connect(adapter, server)
    @adapter = adapter
    BASE.establish_connection(RecordsCase.url(adapter, server, pool: POOL, checkout_timeout: CHECKOUT_SECONDS))
    BASE.connection.create_table(:notes, force: true) { |table| table.integer :value }
    Elah::Adapters.install
    BASE.connection_handler.clear_active_connections!
  end

  def wait(seconds) = BASE.connection.select_value(format(SLEEP.fetch(@adapter), seconds))
  def note(value) = BASE.connection.execute("INSERT INTO notes (value) VALUES (#{value})")
  def notes = BASE.connection.select_values("SELECT value FROM notes ORDER BY value")
  def stat = BASE.connection_pool.stat

  # Runs the block in as many fibers, and gives what each returned or raised.
  def in_fibers(count)
    results = Array.new(count) { Thread::Queue.new }
    results.each_with_index do |result, index|
      Fiber.schedule do
        result << begin
          yield index
        rescue StandardError => e
          e
        end
      end
    end
    results.map(&:pop)
  end

  # A fiber gives its connection back after it has said what it had to say.
  def assert_all_returned
    give_up_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
    until stat[:busy].zero? || Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up_at
      Fiber.scheduler.kernel_sleep(0.001)
    end
    assert_equal 0, stat[:busy]
    assert_equal 0, stat[:waiting]
    assert_operator stat[:connections], :<=, POOL
  end

  # ActiveRecord 7.2 notes that a fiber keeps its connection before it has one. The fiber of a request that was
  # cancelled meanwhile, or waited in vain, had nil for its connection from then on, in the requests of others.
  on_each_database "a_fiber_that_got_no_connection_gets_one_later" do
    Elah.run do
      are_held = Thread::Queue.new
      gate = Thread::Queue.new
      holders = Array.new(POOL) do
        Elah.async do
          are_held << BASE.connection
          gate.pop
        end
      end
      POOL.times { are_held.pop }
      assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.1) { BASE.connection } }
      gate.close
      holders.each(&:wait)
      assert_kind_of Integer, wait(0)
      BASE.connection_pool.release_connection
      assert_all_returned
    end
  end

  on_each_database "as_many_fibers_as_connections_wait_at_once" do
    Elah.run do
      owners = in_fibers(POOL) do
        wait(0.1)
        BASE.connection.object_id
      end
      assert_equal POOL, owners.uniq.size
      assert_all_returned
    end
  end

  on_each_database "transactions_are_apart" do
    Elah.run do
      in_fibers(POOL) do |index|
        BASE.transaction do
          note(index)
          wait(0.05)
          raise ActiveRecord::Rollback if index.odd?
        end
      end
      assert_equal [0, 2, 4, 6, 8], notes
    end
  end

  on_each_database "a_fiber_that_is_cancelled_in_a_transaction_rolls_back" do
    Elah.run do
      errors = in_fibers(POOL) { Timeout.timeout(0.2) { BASE.transaction { [note(1), wait(30)] } } }
      assert_equal [Timeout::Error], errors.map(&:class).uniq
      assert_all_returned
      assert_equal [[]], in_fibers(POOL) { notes }.uniq
    end
  end

  on_each_database "a_fiber_that_is_cancelled_in_a_query_leaves_a_connection_that_is_clean" do
    Elah.run do
      in_fibers(POOL) { Timeout.timeout(0.2) { wait(30) } }
      assert_all_returned
      started_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      assert_equal [[]], in_fibers(POOL) { notes }.uniq
      assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - started_at, :<, 20, "the queries take 30 s"
    end
  end

  # The thread kept it for good. After a block in as many threads as there are connections, every request of the worker
  # got a 503.
  on_each_database "a_block_of_offload_returns_its_connection" do
    Elah.run do
      assert_kind_of Integer, Elah.offload { Enumerator.new { |results| results << wait(0) }.next }
      assert_equal 0, stat[:busy]
      in_fibers(POOL) { Elah.offload { wait(0.1) } }
      in_fibers(POOL) { Timeout.timeout(0.2) { Elah.offload { BASE.transaction { [note(1), wait(1)] } } } }
      Elah.offload { BASE.connection.begin_transaction && note(2) }
      assert_raises(ThreadError) { Elah.offload { [note(3), Thread.exit] } }
      assert_all_returned
      assert_equal [3], notes
    end
  end

  # Each lease left something to do at the end of the task, and a task that goes on for days had more and more of it.
  on_each_database "a_fiber_that_leases_again_and_again_keeps_nothing_of_it" do
    Elah.run do
      20.times do
        wait(0)
        BASE.connection_pool.release_connection
      end
      assert_empty Elah.current_loop.current_task.endings
    end
  end

  on_each_database "what_a_handler_makes_inside_shares_its_connection" do
    Elah.run do
      BASE.transaction do
        note(1)
        seen = Enumerator.new { |list| list << notes << BASE.connection.open_transactions }
        assert_equal [1], seen.next
        assert_equal 1, seen.next
      end
    end
  end

  # Until ActiveRecord 7.0 it had neither: an Enumerator wrote where writes were prevented, and read the default shard.
  on_each_database "what_a_handler_makes_inside_has_its_role_and_shard" do
    with_roles_of_blocks do
      Elah.run do
        BASE.while_preventing_writes do
          assert_raises(ActiveRecord::ReadOnlyError) { Enumerator.new { note(1) }.next }
          assert_raises(ActiveRecord::ReadOnlyError) { Fiber.new { note(1) }.resume }
          assert_equal [1], in_fibers(1) { [note(1), notes].last }.first, "another task has a role of its own"
        end
        BASE.connected_to(role: :writing, shard: :two) do
          assert_equal :two, Enumerator.new { |list| list << BASE.current_shard }.next
        end
        assert_equal :default, BASE.current_shard
      end
    end
  end

  # Rails 6.1 and 7.0 keep a role in another way unless told otherwise.
  def with_roles_of_blocks
    return yield if Elah::Adapters::ActiveRecord.counts_fibers? # 7.1 and later, which refuse the setting

    settings = [ActiveRecord, BASE].find { |owner| owner.respond_to?(:legacy_connection_handling=) }
    begin
      before = settings.legacy_connection_handling
      settings.legacy_connection_handling = false
      yield
    ensure
      settings.legacy_connection_handling = before
    end
  end

  # Each role has a handler there. A query in an Enumerator asked that of another role, and found no pool.
  def test_what_a_handler_makes_inside_has_its_handler_of_connections
    skip "this ActiveRecord has one for all roles" unless BASE.respond_to?(:connection_handlers)
    Elah::Adapters.install
    Elah.run do
      BASE.connected_to(role: :reading) do
        refute_same BASE.default_connection_handler, BASE.connection_handler
        assert_same BASE.connection_handler, Enumerator.new { |list| list << BASE.connection_handler }.next
      end
      assert_same BASE.default_connection_handler, BASE.connection_handler
    end
  end

  ROLES = <<~'RUBY'
    require "active_record"
    settings = [ActiveRecord, ActiveRecord::Base].find { |owner| owner.respond_to?(:legacy_connection_handling=) }
    settings.legacy_connection_handling = false unless Elah::Adapters::ActiveRecord.counts_fibers?
    run(lambda do |_|
      role = ActiveRecord::Base.current_role
      ActiveRecord::Base.connecting_to(role: :reading)
      [200, {}, ["#{role}, then #{Enumerator.new { |list| list << ActiveRecord::Base.current_role }.next}"]]
    end)
  RUBY

  # The requests of a connection share a fiber, and one that leaves its role set would set it for those after it.
  def test_a_request_begins_in_the_default_role
    ElahServer.start(ROLES, extension: ".ru", workers: 1) do |server|
      server.connect { |client| 3.times { assert_equal "writing, then reading", client.get("/").body } }
    end
  end

  # Until ActiveRecord 7.0 it waited for its own: so did a reload of Rails, for ever.
  on_each_database "who_disconnects_the_pool_holds_a_connection_of_it" do
    Elah.run do
      wait(0)
      BASE.connection_pool.disconnect!
      assert_empty notes
    end
  end

  # What it had closed came back at the end of the task, beside what replaced it: the pool lent more than its size.
  on_each_database "a_flush_does_not_make_the_pool_larger" do
    Elah.run do
      in_fibers(POOL) { wait(0.05) }
      assert_all_returned
      assert_equal [0], in_fibers(1) { [BASE.connection_handler.flush_idle_connections!, stat[:connections]].last }
      lent = in_fibers(POOL * 3) do
        wait(0.05)
        BASE.connection.object_id
      end
      assert_operator lent.uniq.size, :<=, POOL
      assert_all_returned
    end
  end

  # ActiveRecord 7.1 and later connect with the first statement. The end of the task failed with a NoMethodError for
  # nil, on mysql2.
  on_each_database "a_connection_that_was_leased_and_never_used_goes_back" do
    BASE.connection_pool.disconnect!
    _, failures = capture_io do
      Elah.run do
        all_leased = Thread::Queue.new
        leased = in_fibers(POOL) do |index|
          BASE.connection.object_id.tap { index == POOL - 1 ? all_leased.close : all_leased.pop }
        end
        assert_equal POOL, leased.uniq.size
        assert_all_returned
      end
    end
    assert_empty failures
  end

  # Whether a connection was told what ActiveRecord tells every new one.
  IS_CONFIGURED = {
    "postgresql" => "SELECT (current_setting('intervalstyle') = 'iso_8601')::int::int8",
    "mysql2" => "SELECT @@SESSION.sql_mode LIKE '%STRICT_ALL_TABLES%'"
  }.freeze

  # The next task got it as configured: `undefined method key? for nil`. Each step takes as long as the proxy holds
  # its reply back.
  def test_a_fiber_that_is_cancelled_while_it_connects_leaves_nothing_half_configured
    RecordsCase::DATABASES.each do |adapter, server|
      SlowProxy.start(server.shared.port, seconds: 0.02) do |proxy|
        BASE.establish_connection(RecordsCase.url(adapter, server.shared, pool: 1).sub(/:\d+\//, ":#{proxy.port}/"))
        Elah::Adapters.install
        Elah.run do
          12.times { |step| assert_equal 1, after_a_cancelled_connect(step * 0.02, IS_CONFIGURED.fetch(adapter)) }
        end
      ensure
        BASE.remove_connection
      end
    end
  end

  def after_a_cancelled_connect(seconds, statement)
    BASE.connection_pool.disconnect!
    in_fibers(1) { Timeout.timeout(seconds) { BASE.connection.select_value("SELECT 1") } }
    in_fibers(1) { BASE.connection.select_value(statement) }.first
  end

  on_each_database "five_thousand_fibers_wait_for_ten_connections" do
    Elah.run do
      results = in_fibers(5000) { wait(0.2) }
      refused, served = results.partition { |result| result.is_a?(Exception) }
      assert_operator served.size, :>, POOL, "those who wait are served while the others wait"
      assert_equal [ActiveRecord::ConnectionTimeoutError], refused.map(&:class).uniq
      meaning = Elah::Adapters::ErrorMapping.of(refused.first)
      assert_equal [503, "pool_exhausted"], [meaning.status, meaning.code]
      assert_all_returned
      assert_equal [[]], in_fibers(20) { notes }.uniq
    end
  end

  # Those who are served at once ask the server whether their connection still works, and its replies have an order of
  # their own.
  on_each_database "those_who_wait_for_a_connection_are_served_in_order" do
    Elah.run do
      served = []
      in_fibers(POOL * 5) do |index|
        served << [BASE.connection, index].last
        wait(0.05)
      end
      assert_operator served.each_with_index.map { |index, place| (index - place).abs }.max, :<=, POOL
      assert_all_returned
    end
  end

  SLOW_NUMBER = { "postgresql" => "SELECT %d FROM pg_sleep(%s)", "mysql2" => "SELECT %d + 0 * SLEEP(%s)" }.freeze

  def number(connection, value, seconds) = connection.select_value(format(SLOW_NUMBER.fetch(@adapter), value, seconds))

  def skip_without_a_lock
    skip "ActiveRecord 7.1 and later have no lock" if Elah::Adapters::ActiveRecord.counts_fibers?
  end

  # The lock of a connection was taken away. On mysql2 such threads got errors; on pg they read the rows of others,
  # waited for ever, or ended the process.
  on_each_database "threads_that_share_a_connection_take_turns" do
    skip_without_a_lock
    Elah.run do
      connection = BASE.connection
      threads = Array.new(5) { |index| Thread.new { Array.new(5) { number(connection, index, 0.005) } } }
      own = Enumerator.new { |list| 5.times { list << number(connection, 5, 0.005) } }
      assert_equal [5] * 5, Array.new(5) { own.next }
      assert_equal((0..4).map { |index| [index] * 5 }, Elah.timeout(60) { threads.map(&:value) })
    end
  end

  # The task that it had the connection from closed it, as one that was left in a transaction.
  on_each_database "a_thread_ends_its_transaction_before_the_connection_goes_back" do
    skip_without_a_lock
    Elah.run do
      is_inside = Thread::Queue.new
      thread = nil
      in_fibers(1) do
        connection = BASE.connection
        thread = Thread.new do
          connection.transaction do
            connection.execute("INSERT INTO notes (value) VALUES (1)")
            is_inside << true
            number(connection, 7, 0.2)
          end
        end
        is_inside.pop
      end
      assert_equal 7, Elah.timeout(60) { thread.value }
      assert_all_returned
      assert_equal [1], notes
    end
  end

  # Who has waited for the lock in vain must not keep it.
  on_each_database "who_waits_for_a_shared_connection_may_be_cancelled" do
    skip_without_a_lock
    Elah.run do
      connection = BASE.connection
      BASE.transaction do
        note(1)
        other = Elah.async { Elah.timeout(0.1) { number(connection, 1, 0) } }
        assert_raises(Elah::DeadlineExceeded) { other.value }
      end
      assert_equal 1, Elah.async { number(connection, 1, 0) }.value
      assert_equal [1], notes
    end
  end

  # Nor must an Enumerator that is left in a transaction keep it.
  on_each_database "a_fiber_that_never_goes_on_does_not_keep_the_lock" do
    skip_without_a_lock
    Elah.run do
      left = in_fibers(1) { Enumerator.new { |list| BASE.transaction { list << note(1) } }.tap(&:next) }
      assert_all_returned
      Elah.timeout(60) { in_fibers(1) { BASE.connection_pool.connections.each(&:clear_cache!) } }
      assert_empty notes
      refute_empty left
    end
  end

  on_each_database "threads_have_connections_of_their_own" do
    Elah.run do
      mine = BASE.connection
      theirs = Thread.new { BASE.connection_pool.with_connection(&:object_id) }.value
      refute_equal mine.object_id, theirs
      assert_same mine, BASE.connection
    end
  end
end
