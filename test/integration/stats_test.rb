# frozen_string_literal: true

# The collector as its senders and its readers see it: what is recorded, what is kept of whom, and what can be asked.
require "test_helper"
require "support/patience"
require "support/stats_server"
require "zlib"

class StatsTest < Minitest::Test
  include Patience

  DELIVERED = { "Prefer" => "durability=delivered, wait=30" }.freeze
  FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"

  def self.server
    @server ||= StatsServer.new({}, {}).tap { |server| Minitest.after_run { server.remove } }
  end

  def server = self.class.server

  # Whoever has an agent of its own is a visitor of its own, so that tests share a server.
  def agent = @agent ||= "#{FIREFOX} #{name}"

  def visitor = server.get("/visitors/me", headers: { "User-Agent" => agent }).json["visitors"].last
  def stored = server.get("/visitors/#{visitor}").json["events"]

  def test_what_came_is_recorded
    server.get("/stats?path=/a&n[]=1&n[]=2",
               headers: { "User-Agent" => agent, "Referer" => "https://example.com/", **DELIVERED })
    server.post("/stats?path=/b&q=1", { path: "/c", deep: { x: [1, nil, "ü"] } },
                headers: { "User-Agent" => agent, **DELIVERED })
    first, second = stored
    assert_equal [{ "path" => "/a", "n" => %w[1 2] }, "/stats", "127.0.0.0", nil],
                 first.values_at("params", "path", "ip", "bot")
    assert_equal "https://example.com/", first["headers"]["referer"]
    assert_equal({ "path" => "/c", "q" => "1", "deep" => { "x" => [1, nil, "ü"] } }, second["params"])
    assert_in_delta Time.now.to_f, second["accepted_ms"] / 1000.0, 600
  end

  def test_secrets_and_addresses_are_not_kept
    secret = { "Cookie" => "session=top", "Authorization" => "Bearer top", "X-Api-Key" => "top",
               "X-Forwarded-For" => "203.0.113.9", "X-Real-IP" => "203.0.113.9" }
    server.get("/stats", headers: { "User-Agent" => agent, **secret, **DELIVERED })
    refute_match(/top|203\.0\.113/, stored.to_s)
  end

  def test_an_address_is_written_nowhere
    StatsServer.start(settings: { trusted_proxies: "127.0.0.1" }) do |proxied|
      from = { "X-Forwarded-For" => "203.0.113.66", "X-Real-IP" => "203.0.113.66", "User-Agent" => agent }
      proxied.put("/schemas/Bad", { required: ["never"] })
      proxied.get("/stats?path=/plain", headers: from)
      proxied.post("/stats", { event: "Bad" }, headers: from)
      proxied.post("/stats/batch", [{ path: "/a" }], headers: from)
      proxied.post("/v1/track", { event: "E", context: { ip: "203.0.113.66" } }, headers: from)
      proxied.get("/stats/pixel.gif", headers: { **from, **DELIVERED })
      wait_until("one is parked, the others are stored") { proxied.account == [5, 4, 0, 1] }
      assert proxied.written?("203.0.113.0"), "what is kept is found"
      refute proxied.written?("203.0.113.66")
    end
  end

  def test_headers_that_are_no_text_are_kept_as_far_as_they_are
    answer = server.get("/stats", headers: { "User-Agent" => agent, "X-Odd" => "caf\xE9".b, **DELIVERED })
    assert_equal 200, answer.status
    assert_equal "caf\uFFFD", stored.first["headers"]["x-odd"]
    assert_equal 200, server.get("/stats", headers: { "X-Odd" => "caf\xE9".b }).status
    ["/stats/batch", "/v1/track"].each do |path|
      assert_equal 200, server.post(path, { event: "E" }, headers: { "User-Agent" => "caf\xE9".b }).status, path
    end
  end

  def test_who_asks_not_to_be_followed_is_not
    [{ "DNT" => "1" }, { "Sec-GPC" => "1" }].each do |wish|
      answer = server.post("/v1/track", { event: "Seen #{name}", userId: "u", anonymousId: "a",
                                          context: { locale: "de" }, properties: { path: "/p" } },
                           headers: { "User-Agent" => agent, **wish, **DELIVERED })
      assert_equal 200, answer.status
    end
    assert_empty stored
    server.put("/schemas/Seen%20#{name}", { required: ["never"] })
    server.post("/v1/track", { event: "Seen #{name}", userId: "u", context: { locale: "de" } },
                headers: { "User-Agent" => agent, "DNT" => "1" })
    wait_until("it is parked") { server.get("/parked").body.include?("Seen #{name}") }
    events = server.get("/parked").json["events"].map { |one| one["event"] }
    event = events.find { |one| one["params"]["event"] == "Seen #{name}" }
    assert_equal [nil, nil, nil], event.values_at("ip", "visitor", "bot")
    assert_equal({ "event" => "Seen #{name}" }, event["params"])
    refute_includes event["headers"].keys, "user-agent"
  ensure
    server.delete("/schemas/Seen%20#{name}")
  end

  def test_batches_of_a_sender_begin_alike_unless_it_asks_not_to_be_followed
    on_disk = { "User-Agent" => agent, "Prefer" => "durability=disk" }
    [{}, {}, { "DNT" => "1" }, {}, { "Sec-GPC" => "1" }].each do |wish|
      answer = server.post("/stats/batch", [{ path: "/#{name}" }], headers: { **on_disk, **wish })
      assert_equal [200, "durability=disk", "*"],
                   [answer.status, *answer.headers.values_at("preference-applied", "access-control-allow-origin")]
    end
    wait_until("all are counted") { server.paths["/#{name}"] == 5 }
    assert_equal [["batch", "/stats/batch", { "user-agent" => agent }, { "path" => "/#{name}" }]] * 3,
                 stored.map { |event| event.values_at("type", "path", "headers", "params") }
  end

  def test_an_event_that_is_sent_again_is_there_once
    2.times do
      server.post("/stats/batch", [{ id: "order-1 #{name}", path: "/#{name}" }],
                  headers: { "User-Agent" => agent, **DELIVERED })
    end
    assert_equal 1, stored.size
    assert_equal 1, server.paths["/#{name}"]
  end

  def test_a_batch_says_of_each_event_what_became_of_it
    lines = [%({"path":"/1"}), "{", "", "[]", %({"id":["x"]}), %({"text":"#{'x' * 1_100_000}"}),
             %({"path":"/2"})].join("\n")
    answer = server.post("/stats/batch", lines,
                         headers: { "Content-Type" => "application/x-ndjson", "User-Agent" => agent, **DELIVERED })
    assert_equal 207, answer.status
    assert_equal [nil, "malformed_json", "not_an_object", "invalid_id", "event_too_large", nil],
                 answer.json["results"].map { |result| result["code"] }
    assert_equal [2, 4, "delivered"], answer.json.values_at("accepted", "rejected", "durability")
    assert_equal answer.json["results"].filter_map { |result| result["id"] }.sort,
                 stored.map { |event| event["id"] }.sort
    all_bad = server.post("/stats/batch", [1, 2])
    assert_equal [422, 0, nil], [all_bad.status, *all_bad.json.values_at("accepted", "durability")]
  end

  def test_a_batch_that_is_none_is_refused_as_a_whole
    { "[" => [400, "malformed_json"], "[]" => [422, "empty_batch"],
      "" => [400, "malformed_json"] }.each do |body, expected|
      answer = server.post("/stats/batch", body, headers: { "Content-Type" => "application/json" })
      assert_equal expected, [answer.status, answer.json["code"]], body
    end
    StatsServer.start(settings: { batch_events_max: 2 }) do |small|
      answer = small.post("/stats/batch", [{}, {}, {}])
      assert_equal [413, "batch_too_large", [0, 0, 0, 0]], [answer.status, answer.json["code"], small.account]
    end
  end

  def test_a_body_in_gzip_is_inflated_to_a_bound
    json = { "Content-Type" => "application/json", "Content-Encoding" => "gzip", "User-Agent" => agent, **DELIVERED }
    assert_equal 200, server.post("/stats", Zlib.gzip('{"path":"/zip"}'), headers: json).status
    assert_equal "/zip", stored.first["params"]["path"]
    bomb = server.post("/stats", Zlib.gzip(%({"a":"#{'a' * 20_000_000}"})), headers: json)
    assert_equal [413, "body_too_large"], [bomb.status, bomb.json["code"]]
    cut = server.post("/stats", Zlib.gzip('{"path":"/zip"}')[0..-9], headers: json)
    assert_equal [400, "invalid_gzip"], [cut.status, cut.json["code"]]
  end

  # Of a batch in two members the first alone was read, and the whole was confirmed.
  def test_a_body_in_gzip_may_have_several_members
    json = { "Content-Type" => "application/json", "Content-Encoding" => "gzip", "User-Agent" => agent }
    batch = [%([{"path":"/one"},), '{"path":"/two"}', "]"].map { |part| Zlib.gzip(part) }.join
    answer = server.post("/stats/batch", batch, headers: json)
    assert_equal [200, 2], [answer.status, answer.json["accepted"]]
    cut = server.post("/stats/batch", Zlib.gzip("[{}]") + Zlib.gzip(" ")[0..-2], headers: json)
    assert_equal [400, "invalid_gzip"], [cut.status, cut.json["code"]]
    followed = server.post("/stats/batch", "#{Zlib.gzip('[{}]')}and no gzip at all", headers: json)
    assert_equal [400, "invalid_gzip"], [followed.status, followed.json["code"]]
    bomb = server.post("/stats/batch", Zlib.gzip(" " * 6_000_000) * 2, headers: json)
    assert_equal [413, "body_too_large"], [bomb.status, bomb.json["code"]]
    many = server.post("/stats/batch", Zlib.gzip("") * 1_001, headers: json)
    assert_equal [400, "invalid_gzip"], [many.status, many.json["code"]]
  end

  def test_a_spoofed_address_is_not_believed
    spoofed = { "X-Forwarded-For" => "198.51.100.7", "User-Agent" => agent }
    server.get("/stats", headers: spoofed.merge(DELIVERED))
    assert_equal ["127.0.0.0"], stored.map { |event| event["ip"] }
    StatsServer.start(settings: { trusted_proxies: "127.0.0.1" }) do |behind_proxy|
      behind_proxy.get("/stats", headers: { **spoofed, "X-Forwarded-For" => "203.0.113.66, 198.51.100.7", **DELIVERED })
      id = behind_proxy.get("/visitors/me", headers: spoofed).json["visitors"].last
      assert_equal ["198.51.100.0"], behind_proxy.get("/visitors/#{id}").json["events"].map { |event| event["ip"] }
    end
  end

  def test_a_visitor_can_be_forgotten_wherever_it_is
    server.record({ path: "/x" }, headers: { "User-Agent" => agent })
    server.put("/schemas/Strict", { required: ["sum"] })
    server.post("/stats", { event: "Strict" }, headers: { "User-Agent" => agent })
    wait_until("it is parked") { server.get("/parked").body.include?(visitor) }
    assert_equal stored, server.get("/visitors/#{visitor.upcase}").json["events"]
    answer = server.delete("/visitors/#{visitor.upcase}")
    assert_equal({ "stored" => 1, "parked" => 1, "delivered" => 0 }, answer.json["erased"])
    assert_empty stored
    refute_includes server.get("/parked").body, visitor
    server.record({ path: "/late" }, headers: { "User-Agent" => agent })
    assert_empty stored
    assert_equal 422, server.delete("/visitors/nobody").status
  ensure
    server.delete("/schemas/Strict")
  end

  def test_users_of_a_sender_are_visitors_by_their_names
    server.post("/v1/identify", { userId: "user #{name}", traits: { plan: "small" } }, headers: DELIVERED)
    found = server.get("/visitors/user:user%20#{name}").json["events"]
    assert_equal [{ "plan" => "small" }], found.map { |event| event["params"]["traits"] }
  end

  def test_what_does_not_fit_is_parked_and_goes_on_with_its_id_when_the_schema_changes
    name = "Order #{self.name}"
    path = "/schemas/#{name.gsub(' ', '%20')}"
    created = server.put(path, { properties: { sum: { type: "integer" } }, required: ["sum"] })
    assert_equal [200, 1], [created.status, created.json["version"]]
    server.post("/stats/batch", [{ event: name, sum: 1 }, { event: name, sum: "2", id: "second" }, { event: name },
                                 { event: "Other #{name}" }], headers: { "User-Agent" => agent })
    orders = -> { server.get("/parked").json["events"].select { |one| one["event"]["params"]["event"] == name } }
    wait_until("two are parked") { orders.call.size == 2 }
    reasons = orders.call.map { |one| one["reason"] }
    assert_equal ["schema \"#{name}\" version 1: sum is missing", "schema \"#{name}\" version 1: sum is no integer"],
                 reasons.sort
    wait_until("the others are stored") { stored.size == 2 }
    parked = server.get("/parked").json["events"].find { |one| one["event"]["params"]["id"] == "second" }["id"]

    changed = server.put(path, { properties: { sum: { type: %w[integer string] } }, required: ["sum"] }).json
    assert_equal [2, 1], changed.values_at("version", "released")
    wait_until("it is stored") { stored.size == 3 }
    assert_includes stored.map { |event| event["id"] }, parked
    assert_equal 1, server.delete(path).json["released"]
    wait_until("all are stored") { stored.size == 4 }
    assert_equal 404, server.get(path).status
  end

  def test_a_schema_that_says_what_nobody_checks_is_refused
    { { pattern: "x" } => /pattern/, { type: "strange" } => /type/, { type: nil } => /type/,
      { type: {} } => /type/, { type: [] } => /type/, { properties: [] } => /properties/, [] => /object/,
      { minLength: -1 } => /minLength/ }.each do |schema, words|
      answer = server.put("/schemas/Bad", schema)
      assert_equal [422, "invalid_schema"], [answer.status, answer.json["code"]], schema.inspect
      assert_match words, answer.json["detail"]
    end
    assert_equal "invalid_body",
                 server.put("/schemas/Bad", "{", headers: { "Content-Type" => "application/json" }).json["code"]
  end

  def test_sums_are_exact_to_an_offset_and_come_in_pages
    StatsServer.start do |fresh|
      fresh.post("/stats/batch", Array.new(30) { |n| { path: "/#{n % 3}", event: "E" } },
                 headers: { "User-Agent" => agent, **DELIVERED })
      fresh.record({ path: "/bot" }, headers: { "User-Agent" => "curl/8" })
      total = fresh.get("/stats/rollups?per=day").json
      assert_equal({ "offset" => 31, "queued" => 0 }, total["as_of"])
      assert_equal([{ "events" => 31, "bots" => 1, "visitors" => 2 }], total["rows"].map { |row| row.except("at") })
      assert_equal [{ "event" => "E", "events" => 30, "bots" => 0 }],
                   fresh.get("/stats/rollups?per=hour&by=event").json["rows"].map { |row| row.except("at") }
      page = fresh.get("/stats/rollups?per=day&by=path&limit=3").json
      rest = fresh.get("/stats/rollups?per=day&by=path&limit=3&cursor=#{page['next_cursor']}").json
      assert_equal [%w[/0 /1 /2], %w[/bot], nil],
                   [page, rest].map { |one| one["rows"].map { |row| row["path"] } } + [rest["next_cursor"]]
      assert_empty fresh.get("/stats/rollups?from=2001-01-01&to=2001-01-02").json["rows"]
      { "per=week" => 400, "from=yesterday" => 400, "from=2031-01-01&to=2030-01-01" => 400,
        "cursor=!" => 400 }.each do |query, status|
        assert_equal status, fresh.get("/stats/rollups?#{query}").status, query
      end
    end
  end

  def test_keys_tell_senders_apart_and_have_quotas
    StatsServer.start(settings: { keys: "wk-shop:shop:3,wk-blog:blog", api_key: "secret" }) do |keyed|
      basic = ->(key) { { "Authorization" => "Basic #{["#{key}:"].pack('m0')}" } }
      assert_equal [401, "unauthorized"],
                   keyed.post("/stats", {}).then { |answer| [answer.status, answer.json["code"]] }
      assert_equal 401, keyed.get("/stats/pixel.gif?key=wrong").status
      assert_equal 200, keyed.get("/stats/pixel.gif?key=wk-blog").status
      assert_equal 204,
                   keyed.post("/stats/beacon?key=wk-blog", "{}", headers: { "Content-Type" => "text/plain" }).status
      assert_equal 200, keyed.post("/v1/track", { event: "E", writeKey: "wk-blog" }).status
      assert_equal 401, keyed.post("/v1/batch", { batch: [{ type: "track", event: "E" }], writeKey: 123 }).status

      first = keyed.post("/v1/track", { event: "E" }, headers: basic["wk-shop"])
      assert_equal %w[3 2], first.headers.values_at("ratelimit-limit", "ratelimit-remaining")
      # Two minutes have room for six.
      batches = Array.new(7) { keyed.post("/stats/batch", [{}], headers: { "X-Api-Key" => "wk-shop" }) }
      over = batches.find { |answer| answer.status == 429 }
      assert_equal ["quota_exceeded", "0"], [over.json["code"], over["ratelimit-remaining"]]
      assert_includes 1..60, over["retry-after"].to_i
      assert_equal 200, keyed.get("/stats", headers: basic["wk-blog"]).status

      assert_equal 401, keyed.get("/stats/rollups").status
      assert_equal 401, keyed.delete("/visitors/user:x").status
      report = keyed.get("/sinks", headers: { "X-Api-Key" => "secret" }).json
      assert_equal 4, report["sinks"].first["streams"]["blog"]["total"]["accepted"]
      refute_match(/wk-/, keyed.process.log)
    end
  end

  def test_no_origin_gets_credentials_unless_it_is_listed
    StatsServer.start(settings: { origins: "https://shop.example" }) do |listed|
      [%w[OPTIONS /stats/beacon], %w[POST /stats/beacon], %w[GET /stats], %w[GET /stats/pixel.gif],
       %w[OPTIONS /v1/track], %w[OPTIONS /stats]].each do |verb, path|
        evil = listed.request(verb, path, headers: { "Origin" => "https://evil.example" })
        assert_equal ["*", nil, "origin"],
                     evil.headers.values_at("access-control-allow-origin", "access-control-allow-credentials", "vary"),
                     "#{verb} #{path}"
        good = listed.request(verb, path, headers: { "Origin" => "https://shop.example" })
        assert_equal %w[https://shop.example true],
                     good.headers.values_at("access-control-allow-origin", "access-control-allow-credentials"),
                     "#{verb} #{path}"
      end
      refused = listed.post("/stats", "{",
                            headers: { "Origin" => "https://shop.example", "Content-Type" => "application/json" })
      assert_equal [400, "https://shop.example"], [refused.status, refused["access-control-allow-origin"]]
    end
  end
end
