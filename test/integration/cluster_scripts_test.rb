# frozen_string_literal: true

require "test_helper"
require "io/wait"
require "open3"
require "rbconfig"
require "support/bank_cluster"

# Scripts and consoles beside the servers of a cluster: they call entities, and own some only while no server does.
class ClusterScriptsTest < Minitest::Test
  include Patience

  KEYS = Array.new(40) { |number| "account#{number}" }.freeze
  LIB = File.expand_path("../../lib", __dir__)

  # Evaluates lines, and prints their values.
  CONSOLE = <<~RUBY
    require "elah"
    require "io/wait"
    #{BankCluster::APP[/^class Account.*^ACCOUNTS = .*?\n/m].sub('Elah.config.state', 'ENV.fetch("URL")')}
    $stdout.sync = true
    Elah::Log.current = Elah::Log.new(level: "error")
    while (line = $stdin.gets)
      puts eval(line)
    end
  RUBY

  # It owned its part of the accounts, and nobody could call it: half of them were unavailable until it ended.
  def test_a_console_takes_no_accounts_from_a_server
    BankCluster.start(servers: 1, lease_seconds: 1, entity_moving_seconds: 1) do |cluster|
      server = cluster.servers[0]
      console(cluster) do |console|
        assert_equal "5", ask(console, 'Elah.run { ACCOUNTS["account1"].deposit(5) }[:balance]')
        wait_until("the server knows it") { cluster.members(server).size == 2 }
        give_up_at = monotonic + 4 # twice the time after which shards move for balance
        statuses = KEYS.cycle.lazy.take_while { monotonic < give_up_at }.map { |key| cluster.deposit(server, key, 1) }
        assert_equal [201], statuses.to_a.uniq
        # A server that stands still for a second has them taken, and gets them back.
        wait_until("the server has all") { cluster.shards(server).sort == [0, BankCluster::OPTIONS[:shards]] }
      end
    end
  end

  def test_a_console_that_does_not_listen_calls_a_server_of_another_machine
    BankCluster.start(servers: 1, cluster_node: "one", cluster_listen: "127.0.0.1:23000-23999") do |cluster|
      console(cluster, "ELAH_CLUSTER_NODE" => "two") do |console|
        assert_equal "5", ask(console, 'Elah.run { ACCOUNTS["account1"].deposit(5) }[:balance]')
        assert_equal 5, cluster.servers[0].get("/account1").json["balance"]
      end
    end
  end

  def test_a_script_hands_its_accounts_over_to_the_first_server
    BankCluster.start(servers: 0) do |cluster|
      console(cluster) do |console|
        deposit = 'ACCOUNTS["account1"].deposit(%d)[:balance]'
        script = "puts #{format(deposit, 5)}; $stdin.wait_readable; #{format(deposit, 1)}"
        assert_equal "5", ask(console, "Elah.run { #{script} }")
        deposit_everywhere(cluster)
        assert_equal "7", ask(console, "")
      end
    end
  end

  # It went on as another writer, and told nobody who called it over the network.
  def test_a_script_that_was_paused_is_called_by_other_machines_again
    BankCluster.start(servers: 0) do |cluster|
      env = { "ELAH_CLUSTER_LISTEN" => "127.0.0.1:23000-23999", "ELAH_LEASE_SECONDS" => "1",
              "ELAH_ENTITY_MOVING_SECONDS" => "60" }
      console(cluster, { **env, "ELAH_CLUSTER_NODE" => "one" }) do |one|
        console(cluster, { **env, "ELAH_CLUSTER_NODE" => "two" }) do |two|
          wait = "$stdin.wait_readable && $stdin.gets"
          balances = 'Array.new(40) { |number| ACCOUNTS["account" + number.to_s].balance }.uniq'
          [one, two].each do |script|
            assert_equal "[0]", ask(script, "Elah.run { 2.times { puts #{balances}.inspect; #{wait} } }")
          end
          wait_until("both own accounts") { owns(cluster, "one").positive? && owns(cluster, "two").positive? }
          Process.kill(:STOP, one.pid)
          wait_until("its accounts have gone") { owns(cluster, "one").zero? }
          Process.kill(:CONT, one.pid)
          wait_until("it has some again") { owns(cluster, "one").positive? }
          assert_equal "[0]", ask(two, "")
        ensure
          Process.kill(:CONT, one.pid)
        end
      end
    end
  end

  # The copy named the workers of the server as the owners of all accounts. They ran the calls, in their own database.
  def test_a_script_on_a_restored_dump_changes_nothing_in_the_original
    BankCluster.start(servers: 1) do |cluster|
      KEYS.each { |key| assert_equal 201, cluster.deposit(cluster.servers[0], key, 1) }
      console(cluster, "URL" => restored(cluster)) do |console|
        deposits = "Elah.run { #{KEYS}.map { |key| ACCOUNTS[key].deposit(5)[:balance] }.uniq }"
        assert_equal "6", ask(console, deposits)
      end
      assert_equal [1], cluster.balances(cluster.servers[0]).values.uniq
    end
  end

  # A thread made the whole process one that wants no accounts, until it was restarted.
  def test_a_thread_that_calls_entities_leaves_the_server_its_accounts
    app = "#{BankCluster::APP.sub('format :json', <<~'RUBY')}
      format :json
      LATE = Class.new(Account) { entity_name "late" }
      get("/thread") { Thread.new { LATE.in(STORE)["account1"].balance rescue $!.class }.value }
      get("/loop") { Thread.new { Elah.run { LATE.in(STORE)["account1"].balance rescue $!.class } }.value }
    RUBY
    "
    BankCluster.start(app: app, servers: 2) do |cluster|
      cluster.wait_until_spread(cluster.servers[0], 2)
      %w[/thread /loop].each { |path| assert_equal 200, cluster.servers[0].get(path).status }
      KEYS.each { |key| assert_equal 201, cluster.deposit(cluster.servers[0], key, 1) }
      takes_part = "SELECT count(*) FROM elah_writers WHERE serves AND ready AND NOT fenced"
      wait_until("both are servers") { cluster.sql.value(takes_part) == 2 }
    end
  end

  # As one that calls an entity while the app is loaded, and whose workers are forks.
  def test_a_process_without_a_loop_gives_its_accounts_to_the_first_server
    BankCluster.start(servers: 0) do |cluster|
      console(cluster) do |console|
        assert_equal "5", ask(console, 'ACCOUNTS["account1"].deposit(5)[:balance]')
        deposit_everywhere(cluster)
        assert_equal "Elah::OutsideLoop", ask(console, '(ACCOUNTS["account1"].balance rescue $!.class)')
        assert_equal "6", ask(console, 'Elah.run { ACCOUNTS["account1"].balance }')
      end
    end
  end

  private

  # A server gets all shards at once, so that calls wait for less than a hand-over may take.
  def deposit_everywhere(cluster)
    server = cluster.add(entity_moving_seconds: 20)
    KEYS.each { |key| assert_equal 201, cluster.deposit(server, key, 1) }
    wait_until("it owns all") { cluster.shards(server).sort == [0, BankCluster::OPTIONS[:shards]] }
  end

  def owns(cluster, node)
    cluster.sql.value("SELECT count(*) FROM elah_shards JOIN elah_writers USING (writer) WHERE node = ? AND NOT fenced",
                      node)
  end

  # @return [String] the URL of another database, with what a dump has
  def restored(cluster)
    cluster.sql.execute("CREATE DATABASE restored")
    url = cluster.database.url.sub(/\w+\z/, "restored")
    commands = [["pg_dump", cluster.database.url], ["psql", "--quiet", "--set=ON_ERROR_STOP=1", url]]
    commands.each { |command| command[0] = File.join(Servers::PostgreSQL::BIN, command[0]) }
    statuses = Open3.pipeline(*commands, out: File::NULL)
    assert(statuses.all?(&:success?))
    url
  end

  def console(cluster, env = {})
    env = { "URL" => cluster.url, "ELAH_SHARDS" => BankCluster::OPTIONS[:shards].to_s, **env }
    IO.popen([env, RbConfig.ruby, "-I", LIB, "-e", CONSOLE], "r+") do |console|
      console.sync = true
      yield console
    ensure
      console.close_write
    end
  end

  def ask(console, line)
    console.puts(line)
    console.gets&.chomp
  end
end
