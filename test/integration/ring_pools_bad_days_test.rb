# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/ring_pools_server"

# The number allocator when it is killed, when its store is full, and when somebody has no key.
class RingPoolsBadDaysTest < Minitest::Test
  NUMBERS = %w[+12025550101 +12025550102 +12025550103].freeze

  def test_what_was_answered_outlives_a_kill
    RingPoolsServer.start do |server|
      pool = server.create(NUMBERS, policy: "longest_idle", session_parameter: "sid")
      lease = server.post("/pools/#{pool['id']}/leases", { session: "a", parameters: { page: "/pricing" } }).json
      row = server.bulk([pool], parameters: "m1=x&sid=b").first
      server.kill_and_restart
      assert_equal lease, server.post("/pools/#{pool['id']}/leases", { session: "a" }).json
      assert_equal row, server.bulk([pool], parameters: "m1=x&sid=b").first
      holder = server.get("/numbers/#{lease['number']}").json["holder"]
      assert_equal [lease["lease"], "a", { "page" => "/pricing" }, lease["held_until"]],
                   holder.values_at("lease", "session", "parameters", "held_until")
      assert_equal NUMBERS.last, server.post("/pools/#{pool['id']}/leases").json["number"]
      assert server.post("/pools/#{pool['id']}/leases").json["overflow"]
    end
  end

  def test_a_full_store_leads_to_the_overflow_number
    RingPoolsServer.start(store_bytes_max: "1M") do |server|
      pool = server.create(NUMBERS, lifetime_seconds: 0.001)
      lease = nil
      500.times do
        lease = server.post("/pools/#{pool['id']}/leases", { parameters: { text: "x" * 4000 } }).json
        break if lease["overflow_reason"] == "unavailable"
      end
      assert_equal [true, "unavailable", "+18885550000"], lease.values_at("overflow", "overflow_reason", "number")
      assert_equal "8885550000", server.bulk([pool], parameters: "x" * 4000).first["promo_number"]
      assert_equal 507, server.put("/pools/#{pool['id']}", { name: "x" * 250, lifetime_seconds: 7 }).status
      assert_equal [503, 200], [server.get("/readyz").status, server.get("/livez").status]
    end
  end

  def test_the_key_of_the_service_and_the_key_of_a_pool
    RingPoolsServer.start(settings: { ring_pools_api_key: "secret" }) do |server|
      key = { "X-Api-Key" => "secret" }
      assert_equal 401, server.post("/pools", { numbers: NUMBERS, allow_overflow: false }).status
      pool = server.post("/pools", { numbers: NUMBERS, allow_overflow: false }, headers: key).json
      path = "/pools/#{pool['id']}"
      refused = [server.get(path), server.put(path), server.delete(path), server.post("#{path}/leases"),
                 server.get("/numbers/#{NUMBERS.first}")]
      assert_equal [401, 401, 401, 401, 401], refused.map(&:status)
      own = { "Authorization" => "Bearer #{pool['api_key']}" }
      assert_equal [200, 201],
                   [server.get(path, headers: own), server.post("#{path}/leases", {}, headers: own)].map(&:status)
      assert_equal [401, 401],
                   [server.put(path, headers: own), server.get("/numbers/#{NUMBERS.first}", headers: own)].map(&:status)
      assert_equal 200, server.get("/numbers/#{NUMBERS.first}", headers: key).status
      assert_equal 401, server.get("/api/2013-07-01/1/advertisers/a/advertiser_campaigns/b/ring_pools.json").status
    end
  end

  def test_wrong_settings_are_told
    { "ring_pools_durability" => "paper", "ring_pools_deadline_ms" => "0",
      "ring_pools_history_days" => "x" }.each do |name, value|
      error = assert_raises(ElahServer::Failure) do
        ElahServer.start(RingPoolsServer::APP, arguments: ["--set", "#{name}=#{value}"])
      end
      assert_match(/#{name} must be .*, not #{value}/, error.message)
    end
  end

  def test_the_bounds_of_a_request
    RingPoolsServer.start do |server|
      pool = server.create(NUMBERS)
      row = { api_suffix: "#{pool['id']}/allocate_number.json?ring_pool_key=#{pool['api_key']}&a=1" }
      assert_equal 200, server.post("/api/2013-07-01/bulk.json", { requests: [row] * 1000 }).status
      assert_equal 403, server.post("/api/2013-07-01/bulk.json", { requests: [row] * 1001 }).status
      # The number of a pool that no store can have as a key failed the whole request.
      absurd = { api_suffix: "#{'9' * 100_000}/allocate_number.json?ring_pool_key=x&a=1" }
      rows = server.post("/api/2013-07-01/bulk.json", { requests: [absurd, row] }).json["responses"]
      assert_equal ["InvalidRequest", nil], rows.map { |each| each["error_class"] }
      long = server.bulk([pool], parameters: "a=#{'x' * 4096}").first
      assert_equal "InvalidRequest", long["error_class"]
      assert_equal "parameters_too_long",
                   server.post("/pools/#{pool['id']}/leases", { parameters: "x" * 4097 }).json["code"]
      assert_equal "invalid_session", server.post("/pools/#{pool['id']}/leases", { session: "a b" }).json["code"]
    end
  end
end
