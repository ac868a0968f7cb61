# frozen_string_literal: true

# What goes wrong with the database of a cluster, done to a real one: what the store raises, what it has stored, and
# what it says of itself meanwhile.
require "test_helper"
require "support/elah_server"
require "support/patience"
require "support/servers"
require "support/store_process"
require "open3"

class ClusterStoreBadDaysTest < Minitest::Test
  include Patience

  def setup
    @server = Servers::PostgreSQL.start(durable: true)
    @store = once_stored { open_store } # a busy disk may take longer than 5 s for the tables
    @table = @store.table("links")
    @table.put("there", "1")
  end

  def teardown
    @store.close
    @server.remove
  end

  def test_a_server_that_is_stopped_in_a_transaction_has_stored_nothing
    runs = 0
    error = assert_raises(Elah::Store::Unavailable) do
      @store.transaction do |tx|
        runs += 1
        tx.get(@table, "there")
        @server.stop
        tx.put(@table, "a", "1")
        tx.put(@table, "b", "1")
      end
    end
    assert_equal [1, 503, "store_unavailable"], [runs, error.status, error.code]
    refute_match(/127\.0\.0\.1/, error.detail)
    assert_raises(Elah::Store::Unavailable) { @table.get("there") }
    refute_predicate assert_raises(Elah::Store::Unavailable) { @table.put("a", "1") }, :may_have_run?
    assert_match(/cannot be reached/, Elah::Store.troubles.fetch(@store.dir))
    @server.start
    assert_equal ["1", nil, nil], once_stored { @store.values_at(@table, "there", @table, "a", @table, "b") }
    wait_until("the sweeper has found that it accepts writes") { !Elah::Store.troubles.key?(@store.dir) }
  end

  # It waited for the database, and no signal but KILL ended it.
  def test_a_script_ends_while_its_last_changes_cannot_be_stored
    script = <<~RUBY
      require "elah"
      Elah.config = Elah::Config.build(lease_seconds: 1)
      class Note < Elah::Entity
        durability :memory
        def write(text) = state.put("text", text)
      end
      notes = Note.in(Elah::Store.open(ARGV.first))
      Elah.run do
        notes["a"].write("first")
        notes.flush
        $stdout.syswrite("up\n")
        $stdin.gets
        notes["a"].write("second")
      end
      puts "over"
    RUBY
    command = [RbConfig.ruby, "-I", File.expand_path("../../lib", __dir__), "-e", script, @server.url]
    IO.popen([*command, { err: %i[child out] }], "r+") do |process|
      assert_equal "up\n", process.gets
      @server.stop
      process.puts
      assert_match(/ERROR .*does not reply: the last changes of Note may not be stored\.\nover\n/, process.read)
    end
    assert_predicate Process.last_status, :success?
  end

  # Whatever was confirmed is there, and nothing of what may not have run.
  def test_a_server_that_is_killed_has_what_it_confirmed
    outcomes = Queue.new
    writers = Array.new(4) do |writer|
      Thread.new do
        (0..).each do |number|
          key = "#{writer}/#{number}"
          stored = number.even? ? @table.put(key, "") : @store.transaction { |tx| tx.put(@table, key, "") }
          outcomes << [key, stored]
        rescue Elah::Store::Unavailable => e
          break outcomes << [key, e.may_have_run? ? :unknown : false]
        end
      end
    end
    wait_until("some are stored") { outcomes.size > 200 }
    @server.kill
    writers.each(&:join)
    @server.start
    stored = once_stored { @table.range(limit: 1_000_000) }.map(&:first)
    outcomes = Array.new(outcomes.size) { outcomes.pop }
    assert_empty outcomes.select { |_, outcome| outcome == true }.map(&:first) - stored
    assert_empty outcomes.select { |_, outcome| outcome == false }.map(&:first) & stored
    assert_equal 4, outcomes.count { |_, outcome| outcome != true }
  end

  def test_a_server_that_is_paused_leaves_the_outcome_of_a_write_open
    quick = open_store(query_seconds: 0.3, connect_seconds: 0.3)
    table = quick.table("links")
    error = nil
    wait_until("a write was sent") do
      once_stored { table.put("warm", "1") }
      @server.pause
      error = assert_raises(Elah::Store::Unavailable) { table.put("a", "1") }
      error.may_have_run? || (@server.resume && false) # after an idle second its connection was checked instead
    end
    assert_match(/did not reply within 0.3 s/, error.message)
    refute_predicate assert_raises(Elah::Store::Unavailable) { table.get("there") }, :may_have_run?
    assert_raises(Elah::Store::NotReady) { Elah::Store.check_ready }
    @server.resume
    assert_equal "1", once_stored { table.get("there") }
    once_stored { table.put("a", "2") }
    assert_equal "2", once_stored { table.get("a") }
  ensure
    @server.resume
    quick&.close
  end

  def test_a_store_without_a_free_connection_is_busy_and_one_over_the_servers_limit_unavailable
    narrow = open_store(connections_max: 1, pool_seconds: 0.05)
    table = narrow.table("links")
    narrow.transaction do |tx|
      tx.get(table, "there")
      error = assert_raises(Elah::Store::Busy) { table.put("a", "1") }
      refute_predicate error, :may_have_run?
    end
    assert_equal true, table.put("a", "1")
    Servers::PostgreSQL.start(settings: { "max_connections" => 6, "superuser_reserved_connections" => 1 }) do |small|
      crowd = Array.new(3) { open_store(small, connections_max: 6) }
      threads = crowd.product((0..5).to_a).map { |store, key| Thread.new { outcome { sleeping(store, key) } } }
      outcomes = threads.map(&:value)
      refused = outcomes.grep(Elah::Store::Unavailable)
      refute_empty refused.map(&:message).grep(/too many/)
      assert_empty refused.select(&:may_have_run?)
      crowd.drop(1).each(&:close) # they may have all connections, and keep them
      assert_equal true, once_stored { crowd.first.table("links").put("a", "1") }
    ensure
      crowd&.each(&:close)
    end
  ensure
    narrow&.close
  end

  def test_a_database_that_is_read_only_is_read_and_not_ready
    read_only(true)
    assert_equal "1", once_stored { @table.get("there") }
    error = assert_raises(Elah::Store::Unavailable) { @table.put("a", "1") }
    assert_match(/\AThe database 127.0.0.1:\d+\/test is read-only\.\z/, error.message)
    refute_predicate error, :may_have_run?
    assert_raises(Elah::Store::Unavailable) { @store.transaction { |tx| tx.put(@table, "a", "1") } }
    assert_match(/is read-only/, assert_raises(Elah::Store::NotReady) { Elah::Store.check_ready }.message)
    read_only(false)
    assert_equal true, once_stored { @table.put("a", "1") }
    Elah::Store.check_ready
  end

  # The rows move to a file system of 8 MB, a part of which another file takes.
  def test_a_database_whose_disk_is_full_refuses_writes_until_there_is_room
    with_small_disk do
      value = Random.bytes(100_000)
      stored = 0
      error = assert_raises(Elah::Store::Full) { loop { @table.put("k#{stored}", value) && stored += 1 } }
      assert_equal ["The store is full: the disk of its database has no room.", 507], [error.message, error.status]
      assert_raises(Elah::Store::Full) { @store.transaction { |tx| tx.put(@table, "tx", value) } }
      assert_raises(Elah::Store::NotReady) { Elah::Store.check_ready }
      assert_equal [value, nil], @store.values_at(@table, "k0", @table, "tx")
      File.delete(File.join(@server.folder, "small", "filler"))
      assert_equal true, once_stored { @table.put("k", value) }
      once_stored { Elah::Store.check_ready }
    end
  end

  class Blob < Elah::Entity
    entity_name "blobs"

    def put(row, bytes) = state.put(row, bytes)
  end

  # The log and readiness probes knew of it only when a table was written, too.
  def test_a_disk_that_is_full_for_entities_is_known_until_there_is_room
    with_small_disk do
      blobs = Blob.in(@store)
      rows = 0
      assert_raises(Elah::Store::Full) { loop { blobs["a"].put((rows += 1).to_s, Random.bytes(100_000)) } }
      assert_match(/the disk of its database has no room/, Elah::Store.troubles.fetch(@store.dir))
      assert_raises(Elah::Store::NotReady) { Elah::Store.check_ready }
      File.delete(File.join(@server.folder, "small", "filler"))
      wait_until("it has room") { !Elah::Store.troubles.key?(@store.dir) }
      blobs["a"].put("last", "")
      Elah::Store.check_ready
    end
  end

  # The store raised an OptionError that nothing knew as an outage. It ended the sweeper for good, so that expired rows
  # stayed.
  def test_a_file_of_authorities_that_is_away_for_a_moment_is_an_outage
    Servers::PostgreSQL.start(tls: true) do |server|
      authorities = server.ca_file
      store = Elah::Store.open("#{server.url}?sslmode=verify-full&sslrootcert=#{authorities}", sweep_seconds: 0.05)
      store.table("links").put("there", "1")
      File.rename(authorities, "#{authorities}.away")
      server.restart
      wait_until("the sweeper has seen it") { store.trouble }
      assert_raises(Elah::Store::Unavailable) { store.table("links").get("there") }
      File.rename("#{authorities}.away", authorities)
      once_stored { store.table("links").put("brief", "1", ttl: 0.01) }
      wait_until("it is removed") { store.table("links").size == 1 }
    ensure
      store&.close
    end
  end

  # A process that stands still in a transaction, or dies in it, keeps no lock.
  def test_a_process_that_is_stopped_or_killed_in_a_transaction_holds_up_nobody
    script = <<~RUBY
      table = (store = Elah::Store.open(ARGV[0])).table("links")
      store.transaction do |tx|
        tx.put(table, "there", tx.get(table, "there") + "!")
        say "read"
        $stdin.gets
      end
      say "stored"
      $stdin.gets
    RUBY
    command = [RbConfig.ruby, "-I#{StoreProcess::LIB}", "-e", StoreProcess::PRELUDE + script, @server.url]
    Open3.popen2(*command) do |input, output, process|
      assert_equal "read", output.gets.chomp
      Process.kill(:STOP, process.pid)
      assert_equal true, @table.put("there", "2")
      assert_equal "2", @store.transaction { |tx| tx.get(@table, "there").tap { tx.put(@table, "other", "1") } }
      Process.kill(:CONT, process.pid)
      2.times { input.puts }
      assert_equal %w[read stored], Array.new(2) { output.gets.chomp }
      assert_equal "2!", @table.get("there")
      Process.kill(:KILL, process.pid)
      assert_equal true, @table.put("there", "3")
    end
  end

  APP = <<~RUBY
    require "elah"
    TABLE = Elah::Store.open(Elah.config.state("orders"), bytes_max: Elah.config.store_bytes_max).table("orders")
    class App < Elah::API
      format :json
      post("/orders/:id") { { new: TABLE.put_new(params[:id], "") } }
      get(:readyz) { { ready: Elah::Store.check_ready.nil? } }
    end
    run App
  RUBY

  def test_a_server_says_when_the_database_is_gone_and_when_it_is_back
    ElahServer.start(APP, workers: 2, cluster: @server.url) do |elah|
      assert_equal [200, 201], [elah.get("/readyz").status, elah.request("POST", "/orders/1").status]
      assert_equal({ "new" => false }, JSON.parse(elah.request("POST", "/orders/1").body))
      @server.stop
      answer = elah.request("POST", "/orders/2")
      assert_equal [503, "1"], [answer.status, answer.headers["retry-after"]]
      refute_match(/127\.0\.0\.1|secret/, answer.body)
      wait_until { elah.get("/readyz").status == 503 }
      elah.wait_for(%r{The store in postgres://elah@127\.0\.0\.1:\d+/test accepts no writes: .*cannot be reached})
      @server.start
      elah.wait_for(%r{The store in postgres://elah@127\.0\.0\.1:\d+/test accepts writes again})
      wait_until { elah.get("/readyz").status == 200 }
      assert_equal 201, elah.request("POST", "/orders/3").status
      refute_match(/secret/, elah.log)
    end
  end

  private

  def open_store(server = @server, **bounds) = Elah::Store.open(server.url, sweep_seconds: 0.1, **bounds)

  # Waits while the store is unavailable.
  def once_stored
    give_up_at = monotonic + patience_seconds
    begin
      yield
    rescue Elah::Store::Unavailable
      raise if monotonic > give_up_at

      Thread.pass
      retry
    end
  end

  def outcome
    yield
    :done
  rescue Elah::Error => e
    e
  end

  # Keeps a connection for as long as others need to come.
  def sleeping(store, key)
    store.transaction do |tx|
      tx.get(store.table("links"), key.to_s)
      store.table("links").put("#{key}/#{store.object_id}", "")
    end
  end

  def read_only(is_on)
    admin = Elah::SQL.new(@server.url, connections_max: 1)
    admin.execute("SET default_transaction_read_only = off")
    admin.execute("ALTER DATABASE test SET default_transaction_read_only = #{is_on}")
    admin.rows("SELECT pg_terminate_backend(pid) FROM pg_stat_activity " \
               "WHERE datname = 'test' AND pid <> pg_backend_pid()")
    admin.close
  end

  def with_small_disk
    folder = File.join(@server.folder, "small")
    Dir.mkdir(folder)
    mounted = system("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder, err: File::NULL)
    skip "only root mounts a small disk" unless mounted

    File.write(File.join(folder, "filler"), "x" * 1024**2)
    FileUtils.mkdir(inner = File.join(folder, "rows"))
    FileUtils.chown("postgres", "postgres", inner)
    @admin = Elah::SQL.new(@server.url, connections_max: 1, pool_seconds: patience_seconds)
    @admin.execute("CREATE TABLESPACE small LOCATION '#{inner}'")
    @admin.execute("ALTER TABLE elah_rows SET TABLESPACE small")
    yield
  ensure
    @admin&.close
    @server.kill
    system("umount", folder, err: File::NULL)
  end
end
