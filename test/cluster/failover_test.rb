# frozen_string_literal: true

require "test_helper"
require "support/bank_clients"
require "support/bank_cluster"

# A cluster whose database fails over while its servers are under load: with a synchronous standby nothing that was
# confirmed is lost, and with one that is behind every loss is reported. No server is restarted.
class ClusterFailoverTest < Minitest::Test
  include Patience

  DATABASE = { settings: { "synchronous_commit" => "on" } }.freeze
  LOSS = /has lost confirmed writes of the writer (\d+)/.freeze

  def test_a_synchronous_standby_takes_over_and_nothing_is_lost
    obstacle = History.obstacle and skip obstacle
    with_clients(:synchronous) do |cluster, clients|
      clients.wait_until_served(20)
      writers = cluster.members(cluster.servers[0]).keys
      fail_over(cluster) { wait_until_leases_end }
      clients.wait_until_served(20)
      clients.stop
      clients.read_all
      assert_equal writers, cluster.members(cluster.servers[0]).keys
      assert_nil clients.violation
      assert_empty clients.history.confirmed.map { |call| amount(call) } - stored(cluster)
      assert_empty losses(cluster)
      puts "synchronous: #{clients}" if $VERBOSE
    end
  end

  def test_each_loss_of_an_asynchronous_standby_is_reported
    with_clients(:asynchronous) do |cluster, clients|
      clients.wait_until_served(20)
      cluster.standby.cut_off
      write_notes(cluster)
      clients.wait_until_served(20)
      fail_over(cluster)
      write_notes(cluster)
      clients.wait_until_served(20)
      clients.stop
      assert_equal 0, rows_without_table(cluster)
      known = stored(cluster).to_h { |pair| [pair, true] }
      lost = clients.history.confirmed.reject { |call| known[amount(call)] }
      refute_empty lost
      losers = lost.map { |call| call.output[:writer].to_s }.uniq
      wait_until("each loss is reported") { (losers - losses(cluster)).empty? }
      assert_equal stored(cluster).group_by(&:first).transform_values { |pairs| pairs.sum(&:last) },
                   clients.read_all
      puts "asynchronous: #{clients}, #{lost.size} lost by #{losers.size} writers" if $VERBOSE
    end
  end

  private

  def with_clients(kind)
    BankCluster.start(servers: 3, standby: kind, database: DATABASE) do |cluster|
      cluster.wait_until_spread(cluster.servers[0], 3)
      BankClients.run(cluster) { |clients| yield cluster, clients }
      cluster.servers.each { |server| refute_predicate server, :ended? }
    end
  end

  # The primary is killed, and the standby takes its place once all servers say that they are not ready.
  def fail_over(cluster)
    cluster.database.kill
    cluster.servers.each { |server| wait_until("it is not ready") { server.get("/ready").status == 503 } }
    yield if block_given?
    cluster.standby.promote
    cluster.servers.each { |server| wait_until("it is ready") { server.get("/ready").status == 200 } }
  end

  # Leased reads end too.
  def wait_until_leases_end
    ended_at = monotonic + BankCluster::OPTIONS[:lease_seconds]
    wait_until("all leases have ended") { monotonic > ended_at }
  end

  # The first notes make a table.
  def write_notes(cluster)
    BankClients::KEYS.each_with_index do |key, index|
      assert_equal 201, cluster.servers[index % 3].request("POST", "/notes/#{key}/text").status
    end
  end

  def rows_without_table(cluster)
    sql = Elah::SQL.new(cluster.standby.url)
    sql.value("SELECT count(*) FROM elah_rows WHERE tbl NOT IN (SELECT tbl FROM elah_tables)")
  ensure
    sql&.close
  end

  def amount(call) = [call.key, call.input[:amount]]

  # @return [Array<Array(String, Integer)>] account and amount of each deposit in the database
  def stored(cluster)
    @stored ||= BankClients::KEYS.flat_map do |key|
      cluster.servers[0].get("/history/#{key}").json["amounts"].map { |amount| [key, amount] }
    end
  end

  # @return [Array<String>] writers of which a server has reported a loss
  def losses(cluster) = cluster.servers.flat_map { |server| server.log.scan(LOSS).flatten }
end
