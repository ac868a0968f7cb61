# frozen_string_literal: true

require "test_helper"
require "io/wait"
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
        assert_equal [0, BankCluster::OPTIONS[:shards]], cluster.shards(server).sort
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
