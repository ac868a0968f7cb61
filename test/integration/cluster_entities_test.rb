# frozen_string_literal: true

require "test_helper"
require "support/bank_cluster"
require "elah/cli"

# Entities of several servers on one PostgreSQL: each account has one owner at a time, and no confirmed deposit is lost.
class ClusterEntitiesTest < Minitest::Test
  include Patience

  KEYS = Array.new(40) { |number| "account#{number}" }.freeze

  def test_two_servers_of_two_workers_share_all_accounts
    BankCluster.start(workers: 2) do |cluster|
      one, two = cluster.servers
      cluster.wait_until_spread(one, 4)
      KEYS.each_with_index do |key, index|
        assert_equal 201, cluster.deposit(cluster.servers[index % 2], key, index + 1)
      end
      assert_equal cluster.confirmed, cluster.balances(one)
      assert_equal cluster.confirmed, cluster.balances(two)
      assert_equal [8], two.get("/history/account7").json["amounts"]
    end
  end

  # On loopback the kernel says who calls, so that no certificate is needed.
  def test_machines_call_each_other_over_the_network
    BankCluster.start(servers: 0) do |cluster|
      one, two = %w[one two].map { |node| cluster.add(cluster_node: node, cluster_listen: "127.0.0.1:23000-23999") }
      cluster.wait_until_spread(one, 2)
      assert_equal %w[one two], cluster.members(one).values.map { |member| member["node"] }.sort
      KEYS.each { |key| assert_equal 201, cluster.deposit(one, key, 1) }
      assert_equal cluster.confirmed, cluster.balances(two)
      one.signal(:KILL)
      deposit_all_but_some(cluster, two)
      assert_empty cluster.wrong(two)
    end
  end

  # A machine whose first call of an entity came from a hook, or while the app was loaded, had no address for good.
  def test_machines_that_called_entities_before_their_loop_ran_are_called_by_others
    early = <<~RUBY
      call = proc { ACCOUNTS["account1"].balance rescue warn $!.message }
      Elah.config.cluster_node == "one" ? Elah::Config.at(:before_worker_boot, &call) : call.call
      run Bank
    RUBY
    BankCluster.start(app: BankCluster::APP.sub(/^run Bank$/, early), servers: 0) do |cluster|
      one, two = %w[one two].map { |node| cluster.add(cluster_node: node, cluster_listen: "127.0.0.1:23000-23999") }
      cluster.wait_until_spread(one, 2)
      KEYS.each { |key| assert_equal 201, cluster.deposit(one, key, 1) }
      assert_equal cluster.confirmed, cluster.balances(two)
      cluster.sql.execute("UPDATE elah_writers SET fenced = true, fenced_at = now() WHERE node = 'two'")
      wait_until("two is another writer") { cluster.sql.value(<<~SQL) == 2 }
        SELECT count(*) FROM elah_writers WHERE NOT fenced AND serves AND address <> ''
      SQL
    end
  end

  # Old and new workers listen side by side. A new one that found no port was outside the cluster from then on, and
  # responded with 503.
  def test_new_workers_wait_in_a_restart_until_an_old_one_leaves_them_a_port
    with_ports("9400-9402") do |cluster, server|
      assert_match(/Too few ports: cluster_listen names 3, and there are 2 workers: a restart needs 4/, server.log)
      server.signal(:HUP)
      server.wait_for(/Restarted; listening/)
      KEYS.each { |key| assert_equal 201, cluster.deposit(server, key, 1) }
      assert_equal 2, KEYS.map { |key| server.get("/#{key}").json["pid"] }.uniq.size
    end
  end

  def test_a_server_stops_while_a_new_worker_waits_for_a_port
    with_ports("9400-9402") do |cluster, server, address|
      third = TCPServer.new(address, 9402)
      server.signal(:HUP)
      server.wait_for(/no port of 9400-9402 is free on .* This worker waits for one/)
      KEYS.each { |key| assert_equal 201, cluster.deposit(server, key, 1) }
      server.stop
    ensure
      third&.close
    end
  end

  def test_a_machine_is_drained_and_the_command_shows_it
    BankCluster.start(servers: 0) do |cluster|
      one, two = %w[one two].map { |node| cluster.add(cluster_node: node, cluster_listen: "127.0.0.1:23000-23999") }
      cluster.wait_until_spread(one, 2)
      assert_match(/\A2 processes on 2 machines, 0 shards without an owner\n/, elah("status", cluster))
      assert_match(/\A1 processes of one hand over/, elah("drain", cluster, "one"))
      KEYS.each { |key| assert_equal 201, cluster.deposit(one, key, 1) }
      wait_until("one owns nothing") { cluster.shards(two).sort == [0, BankCluster::OPTIONS[:shards]] }
      assert_match(/ one +draining +1 +0 /, elah("status", cluster))
      moved = / one +draining +1 +0 +\d+ +0 +\d+ +\d+ +[1-9]\d* /
      wait_until("the moves show") { elah("status", cluster).match?(moved) }
      wait_until("the figures of two say so") { gauges(two) == [2, BankCluster::OPTIONS[:shards], 0, 0] }
      assert_equal cluster.confirmed, cluster.balances(two)
      assert_equal [1, "elah: No process of the cluster runs on three; see elah cluster status.\n"],
                   failing("drain", cluster, "three")
      assert_match(/No other machine takes the shards of two, so it keeps them/, failing("drain", cluster, "two").last)
      assert_match(/fsync is off/, failing("check", cluster).last + elah_output)
      cluster.sql.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
      cluster.sql.execute("ALTER DATABASE test SET synchronous_commit = 'local'")
      cluster.sql.value("SELECT pg_reload_conf()")
      wait_until("the settings are checked") do
        (failing("check", cluster).last + elah_output).include?("does not wait until the standby has")
      end
    end
  end

  # The processes of the last machine handed over to each other, until none of them took shards any more.
  def test_processes_that_are_all_drained_keep_their_shards
    BankCluster.start(servers: 2) do |cluster|
      one, two = cluster.servers
      cluster.wait_until_spread(one, 2)
      cluster.sql.execute("UPDATE elah_writers SET draining = true")
      cluster.sql.execute("NOTIFY elah_owners")
      wait_until("they know it") { !cluster.sql.value("SELECT bool_or(ready) FROM elah_writers WHERE NOT fenced") }
      KEYS.each { |key| assert_equal 201, cluster.deposit(two, key, 1) }
      assert_match(/, 0 shards without an owner/, elah("status", cluster))
    end
  end

  # Accounts whose "long" is busy until somebody says so.
  LONG = 'def balance = key == "long" ? Bank::GO.pop : @balance'
  WITH_LONG_CALL = BankCluster::APP.sub("attr_reader :balance", LONG).sub("format :json", <<-RUBY)
      format :json
      GO = Queue.new
      get("/waiting") { { calls: GO.num_waiting } }
      post("/go") { { calls: GO.push(42).num_waiting } }
  RUBY

  # The shards behind one with a long call waited for it, until their time was over and their calls ran twice.
  def test_a_long_call_holds_up_only_its_own_shard_when_a_machine_is_drained
    BankCluster.start(app: WITH_LONG_CALL, servers: 0, handover_seconds: 3600) do |cluster|
      one, two = %w[one two].map { |node| cluster.add(cluster_node: node, cluster_listen: "127.0.0.1:23000-23999") }
      cluster.wait_until_spread(one, 2)
      node = cluster.members(one)[one.request("POST", "/long/1").json["writer"].to_s]["node"]
      owner = node == "one" ? one : two
      call = Thread.new { one.get("/long").json["balance"] }
      wait_until("the call runs") { owner.get("/waiting").json["calls"] == 1 }
      elah("drain", cluster, node)
      wait_until("its shard alone is left") { cluster.shards(one).min == 1 }
      assert_equal 201, owner.request("POST", "/go").status
      assert_equal 42, call.value
      wait_until("#{node} owns nothing") { cluster.shards(one).min.zero? }
    end
  end

  # Each process looks at the others ten times in a lease, which is an hour here. They tell each other what changes.
  def test_processes_that_come_and_are_drained_are_noticed_at_once
    app = "Elah::Config.prepend(Module.new { def lease_seconds = 3600 })\n#{BankCluster::APP}"
    BankCluster.start(app: app, servers: 0) do |cluster|
      one, two = %w[one two].map { |node| cluster.add(cluster_node: node, cluster_listen: "127.0.0.1:23000-23999") }
      KEYS.each { |key| assert_equal 201, cluster.deposit(two, key, 1) }
      assert_match(/hand over/, elah("drain", cluster, cluster.shards(one)[0].zero? ? "two" : "one"))
      wait_until("another one owns all") { cluster.shards(two).sort == [0, BankCluster::OPTIONS[:shards]] }
      KEYS.each { |key| assert_equal 201, cluster.deposit(one, key, 1) }
      assert_equal cluster.confirmed, cluster.balances(two)
    end
  end

  # The database loses a number of the writer: what the process has in memory is given up and read again. Then a write
  # waits for a lock.
  def test_figures_say_what_has_happened_to_a_process
    BankCluster.start(servers: 1) do |cluster|
      server = cluster.servers[0]
      cluster.wait_until_spread(server, 1)
      assert_equal 201, cluster.deposit(server, "account", 1)
      sql = Elah::SQL.new(cluster.database.url, connections_max: 1)
      shards = BankCluster::OPTIONS[:shards]
      sql.execute("UPDATE elah_writers SET sequence = 0")
      expected = { losses: 1, restores: 2 * shards, drops: shards, moves: 0 }
      wait_until("the loss is noticed") { figures(server) == expected }
      sql.transaction do |tx|
        tx.execute("LOCK TABLE elah_rows IN SHARE MODE")
        waiting = Thread.new { cluster.deposit(server, "account", 1) }
        wait_until("the lag shows") { figure(server, :lag_ms).positive? }
        @waiting = waiting
      end
      assert_equal 201, @waiting.value
      wait_until("nothing waits") { figure(server, :lag_ms).zero? }
      assert_match(/^writer .* shards +lag ms +losses +restores +drops +moves +address$/, elah("status", cluster))
      wait_until("the command shows it") { elah("status", cluster).match?(/ ready +1 +32 +0 +1 +\d\d+ +\d\d+ +0 +-$/) }
      assert_match(/^elah_app_cluster_losses\{.*\} 1$/, Elah::Metrics.text(scoreboard(server)))
    ensure
      sql&.close
    end
  end

  # A script whose first loop has ended. In its second one it calls the server's accounts, as in the first.
  SCRIPT = BankCluster::APP[/\A.*^ACCOUNTS = [^\n]*\n/m] + <<~RUBY
    KEYS = Array.new(40) { |number| "account\#{number}" }
    Elah.run { KEYS.each { |key| ACCOUNTS[key].balance } }
    Elah.run do
      KEYS.each { |key| ACCOUNTS[key].deposit(1) }
      puts "deposited"
      Elah.offload { gets }
      puts ACCOUNTS.size
    end
  RUBY

  def test_a_process_goes_on_in_its_second_loop
    BankCluster.start(servers: 1) do |cluster|
      server = cluster.servers[0]
      run_script(cluster) do |script|
        assert_equal "deposited\n", script.gets
        KEYS.each { |key| assert_equal 201, cluster.deposit(server, key, 1) }
        script.puts
        assert_equal "0\n", script.gets
      end
      assert_equal KEYS.to_h { |key| [key, 2] }, cluster.balances(server)
    end
  end

  def run_script(cluster, &block)
    options = BankCluster::OPTIONS.merge(cluster: cluster.database.url)
    begins = "require 'elah'; $stdout.sync = true; Elah.config = Elah::Config.build(**#{options});"
    IO.popen([RbConfig.ruby, "-Ilib", "-e", begins + SCRIPT], "r+", &block)
  end

  def test_a_killed_server_loses_nothing_and_the_other_goes_on
    with_two do |cluster, one, two|
      one.signal(:KILL)
      deposit_all_but_some(cluster, two)
      assert_empty cluster.wrong(two)
      wait_until("the dead one is known to be dead") { cluster.members(two).size == 1 }
    end
  end

  def test_a_server_that_stood_still_longer_than_its_lease_reads_nothing_old
    with_two do |cluster, one, two|
      one.signal(:STOP)
      deposit_all_but_some(cluster, two)
      one.signal(:CONT)
      assert_empty cluster.wrong(one)
      KEYS.each { |key| assert_equal 201, cluster.deposit(one, key, 100) }
      assert_empty cluster.wrong(two)
      one.wait_for(/was declared dead/)
    end
  end

  # PostgreSQL compares only a row's own columns again when an update has waited for another one: both owned the
  # shards, and confirmed deposits were lost.
  def test_two_writers_that_claim_at_once_do_not_both_own
    BankCluster.start do |cluster|
      sql = Elah::SQL.new(cluster.database.url, connections_max: 2)
      cluster.wait_until_spread(cluster.servers.first, 2)
      sql.transaction do |transaction|
        transaction.execute("SELECT FROM elah_shards FOR UPDATE")
        sql.execute("UPDATE elah_writers SET fenced = true")
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        wait_until("both claim") { sql.value(waiting) == 2 }
      end
      cluster.servers.cycle(2) { |server| KEYS.each { |key| assert_equal 201, cluster.deposit(server, key, 1) } }
      cluster.servers.each { |server| assert_empty cluster.wrong(server) }
    end
  end

  # Each has put a row that the other deletes, so PostgreSQL ends the batch of one. It is stored by a second statement.
  def test_two_writers_whose_batches_deadlock_both_store
    BankCluster.start do |cluster|
      one, two = cluster.servers
      cluster.wait_until_spread(one, 2)
      sql = Elah::SQL.new(cluster.database.url, connections_max: 2)
      accounts = KEYS.group_by { |key| one.request("POST", "/#{key}/1").json["writer"] }.values.map(&:first)
      exchange = ->(server, key, *rows) { server.request("POST", "/exchange/#{key}/#{rows.join('/')}").status }
      accounts.each_with_index { |key, index| assert_equal 201, exchange.call(one, key, "row#{index}", "none") }
      waiting = sql.transaction do |tx|
        tx.execute("SELECT FROM elah_rows WHERE key = 'shared' FOR UPDATE")
        calls = [one, two].zip(accounts, %w[row0 row1], %w[row1 row0])
                          .map { |call| Thread.new { exchange.call(*call) } }
        wait_until("both wait") do
          sql.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == 2
        end
        calls
      end
      assert_equal [201, 201], waiting.map(&:value)
      wait_until("there was a deadlock") do
        sql.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").positive?
      end
      sql.close
    end
  end

  def test_a_server_whose_loop_hangs_keeps_no_shards
    with_two(hang_seconds: 1) do |cluster, one, two|
      hanging = Thread.new { one.get("/hang") }
      wait_until("the other owns all shards") { cluster.shards(two) == [BankCluster::OPTIONS[:shards]] }
      deposit_all_but_some(cluster, two)
      FileUtils.touch(File.join(one.folder, "data", "go on").tap { |path| FileUtils.mkdir_p(File.dirname(path)) })
      hanging.join
      assert_empty cluster.wrong(one)
    end
  end

  def test_calls_wait_while_the_database_restarts
    BankCluster.start(servers: 1, database: { durable: true }) do |cluster|
      server = cluster.servers[0]
      KEYS.each { |key| cluster.deposit(server, key, 1) }
      cluster.database.kill
      waiting = Thread.new { cluster.deposit(server, "account0", 5) }
      cluster.database.start
      assert_equal 201, waiting.value
      assert_equal cluster.confirmed, cluster.balances(server)
    end
  end

  def test_a_server_that_joins_takes_its_part_and_one_that_leaves_gives_it_back
    BankCluster.start(servers: 1) do |cluster|
      one = cluster.servers[0]
      cluster.wait_until_spread(one, 1)
      two = cluster.add
      KEYS.each { |key| assert_equal 201, cluster.deposit(one, key, 1) }
      cluster.wait_until_spread(one, 2)
      KEYS.each { |key| assert_equal 201, cluster.deposit(two, key, 1) }
      one.stop
      assert_equal cluster.confirmed, cluster.balances(two)
      wait_until("the other has left") { cluster.members(two).size == 1 }
    end
  end

  private

  # A server with two workers and these ports of an address that no other test has.
  def with_ports(ports)
    address = "127.#{rand(1..254)}.#{rand(256)}.#{rand(1..254)}"
    BankCluster.start(servers: 1, workers: 2, cluster_listen: "#{address}:#{ports}") do |cluster|
      yield cluster, cluster.servers[0], address
    end
  end

  # Two servers that have half of the shards each, and accounts with a deposit.
  def with_two(**options)
    BankCluster.start(**options) do |cluster|
      one, two = cluster.servers
      cluster.wait_until_spread(one, 2)
      KEYS.each { |key| cluster.deposit(one, key, 1) }
      yield cluster, one, two
    end
  end

  # @return [Array<Integer, nil>] living processes, own shards, shards without an owner, whether the database is away
  def gauges(server)
    %i[processes shards unowned_shards unreachable].map { |name| figure(server, name) }
  end

  def figures(server) = %i[losses restores drops moves].to_h { |name| [name, figure(server, name)] }

  def figure(server, name) = Elah::Status.new(scoreboard(server)).workers.first[:app].fetch("cluster_#{name}", 0)

  def scoreboard(server) = Elah::Scoreboard.open(File.join(server.folder, "run", server.pid.to_s, "scoreboard"))

  # A call that was on its way to who is gone, or stands still, may have run there; the others wait for the new owner.
  # On a busy machine one more has been refused.
  def deposit_all_but_some(cluster, server)
    statuses = KEYS.map { |key| cluster.deposit(server, key, 10) }
    assert_operator statuses.count(201), :>=, KEYS.size - 2, statuses.tally.inspect
  end

  attr_reader :elah_output

  # @return [Array(Integer, String)] exit status and errors of `elah cluster ACTION`
  def failing(action, cluster, *names)
    out, err = StringIO.new, StringIO.new
    status = Elah::CLI.start(["cluster", action, *names, "--cluster", cluster.database.url], out: out, err: err)
    @elah_output = out.string
    [status, err.string]
  end

  def elah(action, cluster, *names)
    assert_equal [0, ""], failing(action, cluster, *names)
    elah_output
  end
end
