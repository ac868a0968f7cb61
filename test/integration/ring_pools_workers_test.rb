# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/patience"
require_relative "../support/ring_pools_server"

# The number allocator in two workers, of which one is paused or killed.
class RingPoolsWorkersTest < Minitest::Test
  include Patience

  POOLS = 12
  DEADLINE_MS = 1000
  # After so long without a response a connection is taken for one with the paused worker.
  SLACK_SECONDS = 8

  def test_rows_of_a_paused_worker_are_overflow_within_the_deadline_and_come_back_after_it
    serve(lifetime_seconds: 0.5, durability: "memory") do |server, pools|
      stopped = worker(server, 1)
      clients = Array.new(6) do
        HttpClient.new(server.process.url, seconds: SLACK_SECONDS).tap { |client| client.request("GET", "/livez") }
      end
      Process.kill(:STOP, stopped)
      client = clients.find { |candidate| bulk(candidate, pools) }
      refute_nil client, "some connection is with the worker that runs"
      rows, reasons = bulk(client, pools)
      late, own = rows.partition { |row| row["overflow"] }
      refute_empty own, "pools of the worker that runs give their numbers"
      refute_empty late
      assert_equal ["8885550000"], late.map { |row| row["promo_number"] }.uniq
      assert_match(/\A(deadline|limited|unavailable)=\d+/, reasons)
      Process.kill(:CONT, stopped)
      wait_until("every pool answers again") { bulk(client, pools)&.first&.none? { |row| row["overflow"] } }
    ensure
      Process.kill(:CONT, stopped) if stopped
    end
  end

  def test_what_a_killed_worker_had_answered_is_known_to_the_next
    serve do |server, pools|
      leases = pools.to_h do |pool|
        [pool["id"], server.post("/pools/#{pool['id']}/leases", { session: "before" }).json]
      end
      Process.kill(:KILL, worker(server, 1))
      wait_until("everybody answers") { pools.all? { |pool| returned?(server, pool) } }
      pools.each do |pool|
        lease = server.post("/pools/#{pool['id']}/leases", { session: "before" }).json
        assert_equal leases[pool["id"]].values_at("lease", "number"), lease.values_at("lease", "number")
      end
    end
  end

  private

  def serve(lifetime_seconds: 600, durability: "disk")
    settings = { ring_pools_deadline_ms: DEADLINE_MS, ring_pools_durability: durability }
    RingPoolsServer.start(workers: 2, settings: settings) do |server|
      2.times { |slot| server.process.wait_for(/Worker #{slot} \(process \d+\) is ready/) }
      pools = Array.new(POOLS) do |pool|
        server.create(Array.new(50) { |number| format("+1202555%02d%02d", pool, number) },
                      lifetime_seconds: lifetime_seconds)
      end
      wait_until("every pool answers") { server.bulk(pools).none? { |row| row["overflow"] } }
      yield server, pools
    end
  end

  def worker(server, slot) = server.process.log[/Worker #{slot} \(process (\d+)\) is ready/, 1].to_i

  def returned?(server, pool)
    server.get("/pools/#{pool['id']}").status == 200
  rescue SystemCallError, HttpClient::Closed, HttpClient::Silence
    false
  end

  # @return [Array(Array<Hash>, String), nil] rows and reasons; nil when the connection is with the worker that
  #   is paused
  def bulk(client, pools)
    rows = pools.map do |pool|
      { api_suffix: "#{pool['id']}/allocate_number.json?ring_pool_key=#{pool['api_key']}&a=1" }
    end
    answer = client.request("POST", "/api/2013-07-01/bulk.json", body: JSON.generate({ requests: rows }),
                                                                 headers: { "Content-Type" => "application/json" })
    [answer.json.fetch("responses"), answer["overflow-reasons"]]
  rescue HttpClient::Silence
    nil
  end
end
