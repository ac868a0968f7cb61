# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/bank_cluster"

# A cluster whose primary says nothing any more, as when its machine has lost its power. A standby takes over.
class ClusterSilentPrimaryTest < Minitest::Test
  include Patience

  DATABASE = { settings: { "synchronous_commit" => "on" } }.freeze

  # No time limit ends what waits for the primary.
  APP = BankCluster::APP.sub("open(Elah.config.state)", "open(Elah.config.state, query_seconds: 3600)")
                        .sub("format :json", <<~RUBY)
                          format :json
                          get("/row") { { row: STORE.table("rows").get("row") } }
                          post("/row") { { row: STORE.transaction { |tx| tx.put(STORE.table("rows"), "row", "1") } } }
                        RUBY

  # Entities were written at the new primary after some seconds. What only reads, tables and transactions waited for the
  # old one for half a minute.
  def test_all_connections_follow_the_writer_to_the_new_primary
    BankCluster.start(app: APP, standby: :synchronous, servers: 1, database: DATABASE) do |cluster|
      server = cluster.servers[0]
      assert_equal [201, 201, 200], [cluster.deposit(server, "known", 1), post(server), server.get("/row").status]
      cluster.database.pause
      calls = [-> { server.get("/row") }, -> { post(server) }, -> { server.get("/unknown") }]
      calls.map! { |call| Thread.new(&call) }
      cluster.standby.promote
      calls.each(&:join)
      wait_until("rows are read") { server.get("/row").status == 200 }
      wait_until("rows are written") { post(server) == 201 }
      wait_until("entities are restored") { server.get("/another").status == 200 }
      assert_equal({ "known" => 1 }, cluster.balances(server))
    ensure
      cluster.database.resume
    end
  end

  private

  def post(server) = server.request("POST", "/row").status
end
