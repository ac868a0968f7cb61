# frozen_string_literal: true

# Text beyond ASCII, and bytes that are no text, on every way into the collector: they are counted and kept as they were
# sent, or become dead letters, and neither stops the delivery, nor the next start.
require "test_helper"
require "open3"
require "support/patience"
require "support/stats_server"

class StatsTextTest < Minitest::Test
  include Patience

  TEXT = "𝛑 größe 日本 🎉"
  JSON_TYPE = { "Content-Type" => "application/json" }.freeze
  ENCODED = TEXT.b.gsub(/[^a-z]/n) { |byte| format("%%%02X", byte.ord) }

  def elah(server, *words)
    output, status = Open3.capture2e({ "LC_ALL" => "C" }, ElahServer::EXECUTABLE, "sink", *words, "--data", server.data)
    assert_predicate status, :success?, output
    output.force_encoding(Encoding::UTF_8)
  end

  # The event could not be written to the ledger: every /stats was 500 while /readyz said ready, and no start succeeded
  # any more.
  def test_a_dead_letter_whose_reason_and_event_are_not_ascii_stops_neither_the_delivery_nor_a_start
    StatsServer.start do |server|
      assert_equal 200, server.put("/schemas/shirt", { properties: { "größe" => { type: "integer" } } }).status
      3.times { |n| assert_equal 200, server.post("/stats", { event: "shirt", "größe" => "#{TEXT}#{n}" }).status }
      server.record({ event: "shirt", "größe" => 3 })
      server.kill_and_restart
      server.record({ event: "hat", path: "/" })
      wait_until("nothing is queued") { server.account == [5, 2, 0, 3] }
      assert_equal [200, 200], %w[/readyz /sinkz].map { |path| server.get(path).status }
      parked = server.get("/parked").json["events"]
      assert_equal [%(schema "shirt" version 1: größe is no integer)] * 3, parked.map { |event| event["reason"] }
      assert_equal Array.new(3) { |n| "#{TEXT}#{n}" }, parked.map { |event| event["event"]["params"]["größe"] }
      assert_equal 3, elah(server, "dead", "stats").scan("größe is no integer").size
      assert_includes elah(server, "show", "stats", parked.first["id"]), %("größe":"#{TEXT}0")
      assert_equal 3, server.put("/schemas/shirt", { properties: { "größe" => { type: "string" } } }).json["released"]
      wait_until("they are delivered") { server.account == [5, 5, 0, 0] }
    end
  end

  # The name was a part of a format string: the reason became "ArgumentError: malformed format string", with which no
  # change of the schema released the event, and a review of events parked before was a 500.
  def test_a_rule_of_length_for_a_name_with_a_percent_sign
    StatsServer.start do |server|
      server.put("/schemas/sale", { properties: { "rate_%" => { maxLength: 3 }, "%s" => { minItems: 1 } } })
      server.post("/stats/batch", [{ event: "sale", "rate_%" => "long" }, { event: "sale", "%s" => [] }])
      wait_until("both are parked") { server.account == [2, 0, 0, 2] }
      reasons = server.get("/parked").json["events"].map { |event| event["reason"][/version 1: (.*)/, 1] }
      assert_equal ["%s has fewer than 1 items", "rate_% has more than 3 characters"], reasons.sort
      assert_equal 2, server.delete("/schemas/sale").json["released"]
      wait_until("both are delivered") { server.account == [2, 2, 0, 0] }
    end
  end

  def test_paths_and_names_of_any_script_are_counted_as_they_are
    StatsServer.start do |server|
      server.get("/stats?path=/caf%C3%A9")
      server.get("/stats?path=#{ENCODED}&event=#{ENCODED}")
      server.post("/stats", { path: TEXT, event: TEXT })
      server.post("/stats", "path=#{ENCODED}&event=#{ENCODED}",
                  headers: { "Content-Type" => "application/x-www-form-urlencoded" })
      server.post("/stats/batch", [{ path: TEXT, event: TEXT, id: TEXT }, { path: TEXT, event: TEXT, id: "#{TEXT}2" }])
      server.get("/stats/pixel.gif?path=#{ENCODED}&event=#{ENCODED}")
      server.post("/stats/beacon", %({"path":"#{TEXT}","event":"#{TEXT}"}), headers: { "Content-Type" => "text/plain" })
      server.post("/v1/page", { userId: TEXT, properties: { path: TEXT }, event: TEXT, messageId: "#{TEXT}1" })
      wait_until("all are delivered") { server.account == [9, 9, 0, 0] }
      assert_equal({ "/café" => 1, TEXT => 8 }, server.paths)
      rows = server.get("/stats/rollups?per=day&by=event").json["rows"]
      assert_equal [[TEXT, 8]], rows.map { |row| row.values_at("event", "events") }
      pages = []
      cursor = nil
      loop do
        page = server.get("/stats/rollups?per=day&by=path&limit=1#{"&cursor=#{cursor}" if cursor}").json
        pages.concat(page["rows"].map { |row| row["path"] })
        break unless (cursor = page["next_cursor"])
      end
      assert_equal ["/café", TEXT], pages
    end
  end

  def test_bytes_that_are_no_text_are_refused_or_replaced
    StatsServer.start do |server|
      refused = [
        server.get("/stats?path=%FF"),
        server.post("/stats", "path=%FF", headers: { "Content-Type" => "application/x-www-form-urlencoded" }),
        server.post("/stats", "{\"path\":\"\xFF\"}", headers: JSON_TYPE),
        server.post("/stats", "{\"\xFF\":1}", headers: JSON_TYPE),
        server.get("/stats/pixel.gif?path=%FF")
      ]
      assert_equal [400] * 5, refused.map(&:status)
      assert_equal %w[invalid_parameters malformed_json], refused.map { |answer| answer.json["code"] }.uniq
      server.process.connect do |client|
        %w[User-Agent Referer X-Forwarded-For Prefer Origin DNT X-Api-Key Authorization].each do |name|
          client.write("GET /stats?path=/header HTTP/1.1\r\nHost: test.example\r\n#{name}: a\xFFb\r\n\r\n".b)
          assert_equal [200, name], [client.read_answer.status, name]
        end
      end
      wait_until("all are delivered") { server.account == [8, 8, 0, 0] }
    end
  end

  # The answers around the events were nested deeper than JSON is written: 500, for all that was parked.
  def test_events_that_are_nested_deeply_are_kept_and_shown
    StatsServer.start do |server|
      assert_equal 200, server.put("/schemas/deep", { required: ["never"] }).status
      nested = ->(levels, event) { %({"event":"#{event}","userId":"ann","a":#{'[' * levels}1#{']' * levels}}) }
      [[1, 200], [80, 200], [97, 200], [98, 200], [99, 400], [5000, 400]].each do |levels, status|
        ["durability=disk", "durability=disk, wait=1"].each do |prefer|
          answer = server.post("/stats", nested[levels, "deep"], headers: { **JSON_TYPE, "Prefer" => prefer })
          assert_equal status, answer.status
        end
      end
      assert_equal 200, server.post("/v1/track", nested[98, "flat"], headers: JSON_TYPE).status
      [95, 97, 98].each { |levels| server.post("/stats/batch", "[#{nested[levels, 'deep']}]", headers: JSON_TYPE) }
      wait_until("nothing is queued") { server.account[2].zero? }
      assert_operator server.get("/parked").body.scan(/\[{80}1/).size, :>, 2
      shown = server.get("/visitors/user:ann")
      events = JSON.parse(shown.body, max_nesting: false)["events"]
      assert_equal [200, 1], [shown.status, events.size]
      assert_equal %w[id accepted_ms type], events.first.keys.first(3)
    end
  end

  # What is summed and not settled yet is in both of the figures of `as_of`, as the specification says.
  def test_a_delivery_that_fails_is_unready_until_it_works_again
    source = <<~RUBY
      eval(File.read(#{StatsServer::APP.inspect}), binding, #{StatsServer::APP.inspect})
      ledger = Stats.service.sink.ledger
      settle = ledger.method(:settle)
      ledger.define_singleton_method(:settle) do |*a, **o|
        File.exist?("broken") ? raise("broken") : settle.call(*a, **o)
      end
    RUBY
    ElahServer.start(source, sink_retry_max_seconds: 0.1) do |server|
      File.write(File.join(server.folder, "broken"), "")
      assert_equal 200, server.get("/stats").status
      wait_until("it is unready") { server.get("/readyz").status == 503 }
      assert_equal "store_unavailable", server.get("/readyz").json["code"]
      assert_equal({ "offset" => 1, "queued" => 1 }, server.get("/stats/rollups").json["as_of"])
      assert_equal [200, 503], %w[/stats /sinkz].map { |path| server.get(path).status }
      File.delete(File.join(server.folder, "broken"))
      wait_until("it is ready") { server.get("/readyz").status == 200 }
      assert_equal 200, server.get("/sinkz").status
      wait_until("both events are summed and settled") do
        server.get("/stats/rollups").json["as_of"] == { "offset" => 2, "queued" => 0 }
      end
    end
  end
end
