# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/app_server"
require_relative "../support/servers"

# Text beyond ASCII and beyond the Basic Multilingual Plane in every place where the reference APIs take text, with
# every store: it comes back as it was sent. Bytes that are no UTF-8 are a 4xx. `stats` has the same in
# test/integration/stats_text_test.rb.
class TextConformanceTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  TEXT = "𝛑 größe 日本 🎉"
  LONG_TAG = "𝛑" * 64
  TYPES = ["application/json", "application/x-www-form-urlencoded"].freeze
  STORES = {
    "embedded" => -> { {} },
    "two_workers" => -> { { workers: 2 } },
    "redis" => -> { { store: Servers::Redis.shared.url } },
    "postgresql" => -> { { store: Servers::PostgreSQL.shared.url } },
    "mariadb" => -> { { store: Servers::MariaDB.shared.url } },
    "mongodb" => -> { { store: Servers::MongoJavaServer.shared.url } }
  }.freeze

  def self.server(app, store)
    (@servers ||= {})[[app, store]] ||= begin
      server_class = Class.new(AppServer) { const_set(:APP, File.join(ROOT, "apps/#{app}/app.rb")) }
      server_class.new({}, STORES.fetch(store).call).tap { |server| Minitest.after_run { server.remove } }
    end
  end

  # Defines a test for each of these stores.
  def self.with(app, *stores, what, &block)
    stores.each do |store|
      define_method("test_#{app}_#{store}_#{what}") do
        @server = self.class.server(app, store)
        instance_exec(&block)
      end
    end
  end

  def encoded(text) = text.b.gsub(/[^\w.-]/n) { |byte| format("%%%02X", byte.ord) }

  def ask(verb, path, body = nil, status: 200, headers: {})
    answer = @server.request(verb, path, body: body, headers: headers)
    assert_equal status, answer.status, "#{verb} #{path}: #{answer.body}"
    answer
  end

  def assert_refused(code, verb, path, body = nil, headers: { "Content-Type" => TYPES.first })
    answer = @server.request(verb, path, body: body, headers: headers)
    assert_equal code, answer.json["code"], "#{verb} #{path} #{body.inspect}: #{answer.status}"
    assert_includes 400..499, answer.status
  end

  with("links", *STORES.keys, "keep_text") do
    fields = { title: TEXT, tags: ["größe", "日本", LONG_TAG] }
    made = ask("POST", "/links", { target: "https://example.com/#{encoded(TEXT)}?q=größe", **fields }, status: 201).json
    code = made["code"]
    ask("POST", "/links", { target: "https://example.com/", tags: ["größe"] }, status: 201)
    assert_equal "https://example.com/#{encoded(TEXT)}?q=gr%C3%B6%C3%9Fe", made["target"]
    [made, ask("GET", "/links/#{code}").json].each do |link|
      assert_equal fields, link.transform_keys(&:to_sym).slice(*fields.keys)
    end
    fields[:tags].each do |tag|
      found = ask("GET", "/links?tag=#{encoded(tag)}").json["links"]
      assert_includes found.map { |link| link["code"] }, code
    end
    page = ask("GET", "/links?tag=#{encoded('größe')}&limit=1").json
    refute_equal [code], page["links"].map { |link| link["code"] }
    page = ask("GET", "/links?tag=#{encoded('größe')}&cursor=#{page['next_cursor']}").json
    assert_includes page["links"].map { |link| link["code"] }, code
    assert_equal "#{TEXT}!", ask("PATCH", "/links/#{code}", { title: "#{TEXT}!" }).json["title"]
    assert_equal "https://example.com/#{encoded(TEXT)}?q=gr%C3%B6%C3%9Fe",
                 ask("GET", "/#{code}", status: 302)["location"]
    assert_includes ask("GET", "/links/export").body.force_encoding(Encoding::UTF_8), TEXT
    link = JSON.generate({ target: "https://example.org/", title: TEXT, tags: [LONG_TAG] })
    line = ask("POST", "/links/import", "#{link}\n",
               headers: { "Content-Type" => "application/x-ndjson" }).body.each_line.first
    assert_equal TEXT, ask("GET", "/links/#{JSON.parse(line)['code']}").json["title"]
    ask("DELETE", "/links/#{code}", status: 204)
  end

  with("links", *STORES.keys, "refuse_what_is_no_text") do
    [encoded(TEXT), "%00", "x" * 500].each do |code|
      %w[GET PATCH DELETE].each do |verb|
        assert_refused "link_not_found", verb, "/links/#{code}", ("{}" if verb == "PATCH")
      end
      assert_refused "link_not_found", "GET", "/#{code}"
      assert_refused "link_not_found", "GET", "/#{code}+"
    end
    %w[/links/%FF /%FF /links/%FF/qr.svg].each { |path| assert_refused "invalid_path", "GET", path }
    assert_refused "invalid_parameters", "GET", "/links?tag=%FF"
    assert_refused "invalid_body", "POST", "/links", "{\"target\":\"https://example.com/\",\"title\":\"\xFF\"}"
    assert_refused "invalid_target", "POST", "/links", { target: "https://größe.example/" }
    assert_refused "invalid_title", "POST", "/links", { target: "https://example.com/", title: "a\0b" }
    assert_refused "invalid_tags", "POST", "/links", { target: "https://example.com/", tags: ["𝛑" * 65] }
    assert_refused "invalid_code", "POST", "/links", { target: "https://example.com/", code: TEXT }
    ["\xFF", TEXT].each do |key|
      assert_refused "invalid_idempotency_key", "POST", "/links", { target: "https://example.com/" },
                     headers: { "Content-Type" => TYPES.first, "Idempotency-Key" => key.b }
    end
    ["AAAA", "x" * 5000, "-", "a%20b", encoded(TEXT)].each do |cursor|
      assert_refused "invalid_cursor", "GET", "/links?cursor=#{cursor}"
    end
    assert_empty ask("GET", "/links?tag=#{'x' * 5000}").json["links"]
    %w[User-Agent Accept Authorization X-Api-Key Origin].each do |name|
      ask("GET", "/links", headers: { name => "\xFF#{TEXT}".b })
    end
  end

  with("items", "embedded", "two_workers", "postgresql", "mariadb", "mongodb", "keep_text") do
    made = ask("POST", "/items", { name: TEXT, description: "#{TEXT}\n\0#{TEXT}" }, status: 201).json
    assert_equal [TEXT, "#{TEXT}\n\0#{TEXT}"], made.values_at("name", "description")
    assert_equal made, ask("GET", "/items/#{made['uuid']}").json
    assert_includes ask("GET", "/items?limit=1000").json["items"], made
    form = ask("POST", "/items", "name=#{encoded(TEXT)}", status: 201, headers: { "Content-Type" => TYPES.last }).json
    assert_equal TEXT, form["name"]
    ask("DELETE", "/items/#{made['uuid']}", status: 204)
    assert_refused "item_not_found", "GET", "/items/#{encoded(TEXT)}"
    assert_refused "item_not_found", "DELETE", "/items/#{'x' * 500}"
    assert_refused "invalid_path", "GET", "/items/%FF"
    assert_refused "invalid_body", "POST", "/items", "{\"name\":\"\xFF\"}"
    assert_refused "invalid_parameters", "POST", "/items", "name=%FF", headers: { "Content-Type" => TYPES.last }
    assert_refused "validation_failed", "GET", "/items?tag=#{encoded(TEXT)}"
    %w[AAAA x].each { |cursor| assert_refused "invalid_cursor", "GET", "/items?cursor=#{cursor}" }
  end

  with("leaderboards", "embedded", "two_workers", "redis", "keep_text") do
    game = ask("POST", "/games", { name: TEXT }, status: 201).json
    assert_equal TEXT, ask("GET", "/games/#{game['id']}").json["name"]
    boards = [{}, { decimals: 2 }, { ties: "member", order: "asc" }]
    boards << { parts: 3 } if @server != self.class.server("leaderboards", "redis")
    boards.each do |settings|
      made = ask("POST", "/games/#{game['id']}/leaderboards", { name: TEXT, **settings }, status: 201).json
      assert_equal "#{TEXT}!",
                   ask("PUT", "/games/#{game['id']}/leaderboards/#{made['id']}", { name: "#{TEXT}!" }).json["name"]
      play("/leaderboards/#{made['id']}", settings[:parts])
    end
  end

  # Members whose names are text of any script on one board.
  def play(board, parts)
    names = [TEXT, "größe", "日本", "🎉", "x\0y", "🎉" * 63]
    names.each_with_index do |name, score|
      ask("PUT", "#{board}/members/#{encoded(name)}", { score: score + 1, metadata: { name => TEXT } })
    end
    names.each do |name|
      shown = ask("GET", "#{board}/members/#{encoded(name)}").json
      assert_equal [name, { name => TEXT }], shown.values_at("member", "metadata")
      ask("GET", "#{board}/members/#{encoded(name)}/around")
    end
    assert_equal names.sort, ask("GET", "#{board}/top").json["members"].map { |row| row["member"] }.sort
    assert_equal names.sort, ask("GET", "#{board}/users").json.map { |row| row["user_id"] }.sort
    key = { "Idempotency-Key" => "k" }
    2.times { ask("POST", "#{board}/members/#{encoded(TEXT)}/increments", { by: 1 }, headers: key) }
    pages_of(board).then { |found| assert_equal names.sort, found.sort }
    moderate(board, names) unless parts
    ask("DELETE", "#{board}/members/#{encoded(TEXT)}", status: 204)
    assert_refused "member_not_found", "GET", "#{board}/members/#{encoded(TEXT)}"
    assert_refused "invalid_path", "PUT", "#{board}/members/%FF", { score: 1 }
    assert_refused "invalid_body", "PUT", "#{board}/members/a", "{\"score\":1,\"metadata\":{\"\xFF\":1}}"
    assert_refused "invalid_member", "GET", "#{board}/members/#{encoded('🎉' * 64)}"
  end

  def pages_of(board)
    found = []
    cursor = nil
    loop do
      page = ask("GET", "#{board}/members?limit=2#{"&after=#{cursor}" if cursor}").json
      found.concat(page["members"].map { |row| row["member"] })
      break unless (cursor = page["after"])
    end
    found
  end

  def moderate(board, names)
    assert_equal names.sort,
                 ask("POST", "#{board}/list", { members: names }).json["members"].map { |row| row["member"] }.sort
    exported = ask("GET",
                   "#{board}/export").body.force_encoding(Encoding::UTF_8).each_line.map { |line| JSON.parse(line) }
    assert_equal names.sort, exported.map { |line| line["member"] }.sort
    lines = exported.map { |line| "#{JSON.generate(line)}\n" }.join
    imported = ask("POST", "#{board}/import", lines, headers: { "Content-Type" => "application/x-ndjson" }).json
    assert_equal names.size, imported["imported"]
    id = board[/\d+/]
    submitted = ask("POST", "/submissions", { submissions: [{ leaderboard: id, member: TEXT, score: 9 }] }).json
    assert_equal TEXT, submitted["submissions"].first["member"]
    refute_nil ask("GET", "/members/#{encoded(TEXT)}/standings?leaderboards=#{id}").json["standings"].first["standing"]
    ask("PUT", "#{board}/bans/#{encoded(TEXT)}", status: 204)
    assert_equal [TEXT], ask("GET", "#{board}/bans").json["members"]
    ask("DELETE", "#{board}/bans/#{encoded(TEXT)}", status: 204)
    ask("POST", "#{board}/seasons", {}, status: 201)
    ask("PUT", "#{board}/members/#{encoded(TEXT)}", { score: 1 })
    assert_equal names.size, ask("GET", "#{board}/top?season=1").json["members"].size
  end

  with("ring_pools", "embedded", "two_workers", "keep_text") do
    numbers = Array.new(3) { "+1888#{rand(2_000_000..9_999_999)}" }
    pool = ask("POST", "/pools",
               { numbers: numbers, overflow_number: "+18885550000", name: TEXT, param1: TEXT,
                 tracking_url: "https://example.com/#{TEXT.delete(' ')}" },
               status: 201).json
    assert_equal TEXT, ask("GET", "/pools/#{pool['id']}").json["name"]
    lease = ask("POST", "/pools/#{pool['id']}/leases", { parameters: { "größe" => TEXT, TEXT => "1" } },
                status: 201).json
    assert_equal({ "größe" => TEXT, TEXT => "1" },
                 ask("GET", "/numbers/#{encoded(lease['number'])}").json.dig("holder", "parameters"))
    suffix = "#{pool['id']}/allocate_number.json?ring_pool_key=#{pool['api_key']}"
    rows = ["#{suffix}&größe=#{TEXT}", "#{suffix}&a=#{encoded(TEXT)}"].map do |text|
      { api_suffix: text, request_id: TEXT }
    end
    found = ask("POST", "/api/2013-07-01/bulk.json", { requests: rows }).json["responses"]
    assert_equal [TEXT, TEXT], found.map { |row| row["request_id"] }
    held = found.map { |row| ask("GET", "/numbers/#{encoded(row['promo_number'])}").json.dig("holder", "parameters") }
    assert_equal [{ "größe" => TEXT }, { "a" => TEXT }], held
    parts = "/api/2013-07-01/größe/advertisers/日本/advertiser_campaigns/🎉".split("/")
    campaign = parts.map { |part| encoded(part) }.join("/")
    fields = { id_from_network: "𝛑größe", name: TEXT, numbers: Array.new(2) { "+1888#{rand(2_000_000..9_999_999)}" },
               overflow_number: "+18885550000" }
    ask("POST", "#{campaign}/ring_pools.json", fields, status: 201)
    ask("POST", "#{campaign}/ring_pools.json", fields)
    assert_equal ["𝛑größe", TEXT],
                 ask("GET", "#{campaign}/ring_pools.json").json.first.values_at("id_from_network", "name")
    assert_equal TEXT, ask("GET", "#{campaign}/ring_pools/#{encoded('𝛑größe')}.json").json["name"]
    ask("DELETE", "#{campaign}/ring_pools/#{encoded('𝛑größe')}.json")
    assert_refused "invalid_session", "POST", "/pools/#{pool['id']}/leases", { session: TEXT }
    assert_refused "invalid_body", "POST", "/pools/#{pool['id']}/leases", "{\"session\":\"\xFF\"}"
    assert_refused "invalid_number", "GET", "/numbers/#{encoded(TEXT)}"
    assert_refused "invalid_path", "GET", "/numbers/%FF"
  end
end
