# frozen_string_literal: true

require "test_helper"
require "support/listener"
require "support/patience"
require "support/servers"
require "support/stats_server"

# The collector on two servers with one PostgreSQL: events go to both, and both have the same sums, visitors, schemas
# and live page. The contract is played on two servers by test/conformance.
class StatsClusterTest < Minitest::Test
  include Patience

  DELIVERED = { "Prefer" => "durability=delivered, wait=60" }.freeze
  AGENT = { "User-Agent" => "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0" }.freeze
  DAY = "/stats/rollups?per=day&by="

  def setup
    @database = Servers::PostgreSQL.start
    @servers = []
  end

  def teardown
    @servers.each(&:remove)
    @database.remove
  end

  def start(settings = {}, **options)
    2.times { @servers << StatsServer.new(settings, { cluster: @database.url, lease_seconds: 2.5, **options }) }
    @servers
  end

  def test_sums_of_events_to_both_are_exact_and_the_same
    start(workers: 2)
    ids = Array.new(100) { |number| "00000000-0000-7000-8000-#{format('%012d', number)}" }
    threads = Array.new(8) do |number|
      Thread.new do
        server = @servers[number % 2]
        20.times { |index| visit(server, "/p#{index % 5}", "User-Agent" => "agent #{index}") }
        server.post("/stats/batch", ids.map { |id| { id: id, path: "/once" } }, headers: AGENT)
      end
    end
    assert_equal [200], threads.map { |thread| thread.value.status }.uniq
    wait_until("all are in the sums") { @servers.all? { |server| sums(server)["total"] == { nil => 260 } } }
    expected = (0..4).to_h { |number| ["/p#{number}", 32] }.merge("/once" => 100)
    @servers.each do |server|
      assert_equal expected, sums(server)["path"]
      assert_equal 21, server.get("#{DAY}total").json["rows"].sum { |row| row["visitors"] }
    end
    wait_until("no event waits") { @servers.all? { |server| as_of(server) == { "offset" => 260, "queued" => 0 } } }
    @servers[0].kill
    assert_equal expected, sums(@servers[1])["path"]
  end

  def test_a_visitor_and_a_quota_are_the_same_on_both
    one, two = start({ keys: "k:shop:30" })
    assert_equal(*@servers.map { |server| server.get("/visitors/me", headers: AGENT).json["visitors"].last })
    statuses = Array.new(40) { |number| visit(@servers[number % 2], "/q", "X-Api-Key" => "k").status }
    assert_includes [30, 40], statuses.count(200), "40 if a minute was over meanwhile"
    visitor = one.get("/visitors/me", headers: AGENT).json["visitors"].last
    @servers.each { |server| visit(server, "/me", "X-Api-Key" => "k", **DELIVERED, **AGENT) }
    assert_equal(*@servers.map { |server| server.get("/visitors/#{visitor}").json["events"] })
    two.delete("/visitors/#{visitor}")
    assert_equal [[], []], (@servers.map { |server| server.get("/visitors/#{visitor}").json["events"] })
  end

  # What breaks its schema is parked where it was accepted, and follows what is done elsewhere.
  def test_parked_events_follow_the_changes_of_the_other_server
    one, two = start
    one.put("/schemas/Buy", { required: ["price"] })
    visitor = two.get("/visitors/me", headers: AGENT).json["visitors"].last
    two.post("/stats", { event: "Buy", path: "/kept" })
    two.post("/stats", { event: "Buy", path: "/gone" }, headers: AGENT)
    wait_until("they are parked") { two.get("/parked").json["events"].size == 2 }
    one.delete("/visitors/#{visitor}")
    wait_until("one is discarded") { two.get("/parked").json["events"].size == 1 }
    assert_empty two.paths
    assert_equal 1, one.put("/schemas/Buy", { required: ["path"] }).json["version"] - 1
    wait_until("the other one is counted") { one.paths == { "/kept" => 1 } }
    assert_empty two.get("/parked").json["events"]
    wait_until("it is settled") { two.account == [1, 1, 0, 0] }
  end

  def test_the_live_page_of_each_shows_the_events_of_both
    start(workers: 2)
    @servers.each_with_index { |server, number| (3 + number).times { server.get("/stats?path=/live#{number}") } }
    @servers.each do |server|
      listener = Listener.new(server.process, "/stats/live/events")
      wait_until(shown = +"it shows all: ") do
        listener.text << listener.client.read_chunk
        tick = JSON.parse(listener.data.last || "{}")
        shown.replace("it shows all: #{tick.except('per_second', 'latency_us')}")
        tick.values_at("workers", "paths") == [4, { "/live1" => 4, "/live0" => 3 }] &&
          tick["sink"]&.fetch("total") == { "accepted" => 7, "delivered" => 7, "queued" => 0, "dead" => 0 }
      end
    end
  end

  # Each event that was accepted meanwhile was parked, and missing in the sums.
  def test_events_wait_while_the_database_is_away
    server, = start
    server.get("/stats?path=/before")
    wait_until("it is counted") { server.account == [1, 1, 0, 0] }
    @database.stop
    accepted = Array.new(20) { server.get("/stats?path=/meanwhile").status }.count(200)
    refute_predicate accepted, :zero?
    wait_until("the database was asked") { !server.get("/sinkz").status.equal?(200) }
    @database.start
    wait_until("all are settled") { server.account == [1 + accepted, 1 + accepted, 0, 0] }
    assert_equal({ "/before" => 1, "/meanwhile" => accepted }, server.paths)
  end

  private

  def visit(server, path, headers) = server.post("/stats", { path: path }, headers: headers)

  # Events of all days, since midnight may come.
  def sums(server)
    %w[total path].to_h do |by|
      rows = server.get("#{DAY}#{by}").json["rows"]
      [by, rows.each_with_object(Hash.new(0)) { |row, all| all[row[by]] += row["events"] }]
    end
  end

  def as_of(server) = server.get("#{DAY}total").json["as_of"]
end
