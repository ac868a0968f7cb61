# frozen_string_literal: true

require "test_helper"
require "support/links_server"
require "support/patience"
require "support/servers"

# The shortener on two servers with one PostgreSQL: each sees at once what the other one does, and nothing is counted
# twice or lost. The contract is played on two servers by test/conformance.
class LinksClusterTest < Minitest::Test
  include Patience

  CLIENTS = 8

  def setup
    @database = Servers::PostgreSQL.start
    @servers = Array.new(2) { LinksServer.new({}, { cluster: @database.url, request_seconds: 60 }) }
  end

  def teardown
    @servers.each(&:remove)
    @database.remove
  end

  def test_a_changed_or_deleted_link_is_never_served_again
    one, two = @servers
    code = one.create["code"]
    20.times do |number|
      target = "https://example.com/#{number}"
      assert_equal 200, @servers[number % 2].request("PATCH", "/links/#{code}", body: { target: target }).status
      @servers.each { |server| assert_equal target, server.get("/#{code}")["location"] }
    end
    assert_equal 40, two.visits(code)
    assert_equal 204, two.delete("/links/#{code}").status
    assert_equal 404, one.get("/#{code}").status
    assert_equal 0, two.create(code: code)["visits"]
  end

  def test_visits_from_all_sides_are_counted_exactly_and_limits_hold
    one, two = @servers
    free = one.create["code"]
    limited = two.create(max_visits: 50)["code"]
    statuses = together { |server| Array.new(20) { [server.get("/#{free}").status, server.get("/#{limited}").status] } }
    assert_equal [302], statuses.map(&:first).uniq
    assert_equal({ 302 => 50, 410 => (20 * CLIENTS) - 50 }, statuses.map(&:last).tally)
    one.kill
    assert_equal [20 * CLIENTS, 50], [free, limited].map { |code| two.visits(code) }
    assert_equal 410, two.get("/#{limited}").status
  end

  def test_codes_are_unique_and_an_idempotency_key_creates_one_link
    body = { target: "https://example.com/" }
    codes = together { |server| Array.new(20) { server.create["code"] } }
    assert_equal 20 * CLIENTS, codes.uniq.size
    replies = together { |server| [server.post("/links", body, headers: { "Idempotency-Key" => "once" })] }
    assert_equal [201], replies.map(&:status).uniq
    assert_equal 1, replies.map { |reply| reply.json["code"] }.uniq.size
    found = together { |server| [server.post("/links", { target: "https://example.com/a", find_if_exists: true })] }
    assert_equal 1, found.map { |reply| reply.json["code"] }.uniq.size
    exported = @servers.map { |server| server.get("/links/export").body.lines.map { |line| JSON.parse(line)["code"] } }
    assert_equal (20 * CLIENTS) + 2, exported[0].size
    assert_equal exported[0], exported[1]
  end

  def test_while_the_database_is_down_nothing_is_redirected_and_then_everything_again
    one, two = @servers
    code = one.create["code"]
    @database.stop
    @servers.each do |server|
      reply = server.get("/#{code}")
      assert_equal [503, "store_unavailable"], [reply.status, reply.json["code"]]
    end
    @database.restart
    wait_until("both redirect") { @servers.all? { |server| server.get("/#{code}").status == 302 } }
    assert_operator two.visits(code), :>=, 2
  end

  private

  # What clients of both servers at once were told.
  def together
    Array.new(CLIENTS) { |number| Thread.new { yield @servers[number % 2] } }.flat_map(&:value)
  end
end
