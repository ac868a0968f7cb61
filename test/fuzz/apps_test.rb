# frozen_string_literal: true

require "test_helper"
require "support/api_fuzz"
require "support/leaderboards_server"
require "support/links_server"
require "support/ring_pools_server"
require "support/stats_server"

# Whatever clients send to the five reference APIs: never a 5xx, and always a code of the specification.
class AppsFuzzTest < Minitest::Test
  # Requests of one case, all to one app.
  REQUESTS = 20

  ItemsServer = Class.new(AppServer) { const_set(:APP, File.join(ApiFuzz::ROOT, "apps/items/app.rb")) }

  LINK = { target: :url, code: :code, status: :link_status, expires_at: :time, expires_in: :integer, not_before: :time,
           max_visits: :integer, title: :text, tags: :words, find_if_exists: :boolean }.freeze
  BOARD = { name: :text, operator: :operator, order: :direction, decimals: :digit, ties: :ties, season: :season,
            zone: :zone, seasons_kept: :integer, parts: :digit, members_max: :integer }.freeze
  POOL = { numbers: :numbers, overflow_number: :telephone, destination_phone_number: :telephone, name: :text,
           lifetime_seconds: :number, quarantine_seconds: :integer, policy: :policy, allow_overflow: :boolean,
           tracking_url: :url, destination_url: :url, preferred: :boolean, bulk_only: :boolean, draining: :boolean,
           session_parameter: :word, signals: :signals, target_overflow_share: :share, param1: :text,
           max_pool_size: :size }.freeze
  NETWORK = "/api/2013-07-01/:place/advertisers/:place/advertiser_campaigns/:place/ring_pools"
  KEY = { "Idempotency-Key" => :word }.freeze

  APPS = {
    "links" => [LinksServer, [
      ["POST", "/links", LINK], ["POST", "/links", LINK, KEY],
      ["GET", "/links?limit=:integer&cursor=:cursor&tag=:text"], ["GET", "/links/:code"],
      ["PATCH", "/links/:code", LINK], ["DELETE", "/links/:code"], ["GET", "/:code"], ["HEAD", "/:code"],
      ["GET", "/:code+"],
      ["GET", "/links/:code/qr.svg"], ["GET", "/links/:code/qr.png?size=:integer"],
      ["POST", "/links/import?find_if_exists=:boolean",
       "{\"target\":\"https://example.com/\",\"title\":\":text\",\"visits\":\":integer\",\"created_at\":\":time\"}\n" \
       "{\"target\":\":url\"}\n"],
      ["GET", "/links/export"], ["GET", "/:text/:text"]
    ]],
    "items" => [ItemsServer, [
      ["POST", "/items", { name: :text, description: :text, tags: :item_tags }],
      ["GET", "/items?limit=:integer&cursor=:cursor&tag=:word"],
      ["GET", "/items/random?n=:integer&distinct=:boolean&tag=:word&seed=:integer"], ["GET", "/items/:uuid"],
      ["DELETE", "/items/:uuid"],
      ["GET", "/items/uniformity"], ["GET", "/items/random"]
    ]],
    "stats" => [StatsServer, [
      ["GET", "/stats?path=:text&event=:text&n=:integer"],
      ["POST", "/stats", { path: :text, event: :text, n: :number }],
      ["POST", "/stats", { path: :text }, { "Prefer" => "durability=disk" }],
      ["POST", "/stats/batch", [{ path: :text, event: :text, id: :text }, { path: :text, n: [:object] }]],
      ["GET", "/stats/pixel.gif?path=:text&key=:word"],
      ["POST", "/stats/beacon?key=:word", { path: :text }, { "Content-Type" => "text/plain" }],
      ["POST", "/v1/:segment",
       { userId: :text, messageId: :text, event: :text, properties: { path: :text },
         context: { page: { path: :text }, ip: :text }, traits: :object }],
      ["POST", "/v1/batch",
       { batch: [{ type: :segment, messageId: :text, context: :object }], context: :object, writeKey: :text }],
      ["GET", "/stats/rollups?per=:per&by=:by&from=:time&to=:time&limit=:integer&cursor=:cursor"], ["GET", "/schemas"],
      ["GET", "/schemas/:text"],
      ["PUT", "/schemas/:text",
       { type: :json_type, properties: { a: { type: :json_type, minimum: :number, minLength: :integer } },
         required: :words, enum: :words }],
      ["DELETE", "/schemas/:text"], ["GET", "/parked?after=:uuid&limit=:integer"], ["GET", "/visitors/me"],
      ["GET", "/visitors/:visitor?after=:uuid"],
      ["DELETE", "/visitors/:visitor"], ["GET", "/sinks?minutes=:integer"], ["OPTIONS", "/stats"],
      ["GET", "/stats/live"]
    ]],
    "leaderboards" => [LeaderboardsServer, [
      ["POST", "/games", { name: :text }], ["GET", "/games/:game"], ["POST", "/games/:game/leaderboards", BOARD],
      ["GET", "/games/:game/leaderboards?page=:integer"],
      ["GET", "/games/:game/leaderboards/:board"], ["PUT", "/games/:game/leaderboards/:board", { name: :text }],
      ["GET", "/leaderboards/:board"],
      ["PUT", "/leaderboards/:board/members/:member?rank=:style",
       { score: :score, operator: :operator, metadata: :object }],
      ["PUT", "/leaderboards/:board/members/:member", { score: :score }],
      ["POST", "/leaderboards/:board/members/:member/increments", { by: :score }, KEY],
      ["POST", "/submissions",
       { submissions: [{ leaderboard: :board, member: :member, score: :score, operator: :operator }] }, KEY],
      ["POST", "/leaderboards/:board/import?operator=:operator",
       "{\"member\":\":member\",\"score\":\":score\",\"metadata\":\":object\"}\n"],
      ["GET", "/leaderboards/:board/export?season=:current"],
      ["POST", "/leaderboards/:board/tokens", { member: :member, expires_in: :integer }],
      ["DELETE", "/leaderboards/:board/members/:member?erase=:boolean"],
      ["GET", "/leaderboards/:board/members/:member?rank=:style&season=:current"],
      ["GET", "/leaderboards/:board/top?limit=:integer&rank=:style&season=:current"],
      ["GET", "/leaderboards/:board/members/:member/around?distance=:integer"],
      ["GET", "/leaderboards/:board/members?ranks=:ranks"],
      ["GET", "/leaderboards/:board/members?scores=:ranks&offset=:integer&limit=:integer"],
      ["GET", "/leaderboards/:board/members?after=:cursor&limit=:integer"],
      ["GET", "/leaderboards/:board/members?before=:cursor"],
      ["POST", "/leaderboards/:board/list?rank=:style", { members: [:member, :text] }],
      ["GET", "/leaderboards/:board/members/:member/percentile?season=:current"],
      ["GET", "/leaderboards/:board/percentiles?at=:number"],
      ["GET", "/leaderboards/:board/histogram?buckets=:integer"],
      ["GET", "/leaderboards/:board/histogram?bounds=:integer"],
      ["GET", "/members/:member/standings?leaderboards=:board"], ["GET", "/leaderboards/:board/seasons"],
      ["POST", "/leaderboards/:board/seasons"],
      ["GET", "/leaderboards/:board/bans"], ["PUT", "/leaderboards/:board/bans/:member"],
      ["DELETE", "/leaderboards/:board/bans/:member"],
      ["POST", "/leaderboards/:board/trim", { keep: :integer }], ["GET", "/leaderboards/:board/users?page=:integer"],
      ["GET", "/leaderboards/:board/users/:member"],
      ["DELETE", "/leaderboards/:gone"], ["GET", "/leaderboards/:board/live"]
    ], %w[tokens_off]],
    "ring_pools" => [RingPoolsServer, [
      ["POST", "/pools", POOL], ["PUT", "/pools/:pool", POOL.except(:numbers, :draining, :bulk_only, :allow_overflow)],
      ["GET", "/pools?limit=:integer&after=:integer"],
      ["GET", "/pools/:pool?allocations_per_hour=:number&target=:number"], ["DELETE", "/pools/:gone"],
      ["POST", "/pools/:pool/leases", { session: :word, parameters: :object }],
      ["POST", "/pools/:pool/leases", { parameters: :object }, KEY],
      ["GET", "/pools/:pool/leases/:lease"], ["PUT", "/pools/:pool/leases/:lease"],
      ["DELETE", "/pools/:pool/leases/:lease"], ["GET", "/numbers/:telephone?at=:time"],
      ["POST", "/api/2013-07-01/bulk.json",
       { requests: [{ api_suffix: :suffix, request_id: :text }, { api_suffix: :suffix, request_id: :integer }] }],
      ["GET", "/api/2013-07-01/ring_pools/:pool/allocate_number.json?ring_pool_key=:key&a=:text"],
      ["GET", "/api/2013-07-01/ring_pools/:pool/allocate_number.xml?ring_pool_key=:key&a=:text"],
      ["GET", "/api/2013-07-01/ring_pools/:pool/allocate_number.csv?ring_pool_key=:key&a=:text"],
      ["GET", "#{NETWORK}.json"], ["POST", "#{NETWORK}.json", { id_from_network: :place, **POOL }],
      ["GET", "#{NETWORK}/:place.json"],
      ["PUT", "#{NETWORK}/:place.json", POOL], ["DELETE", "#{NETWORK}/:place.json"]
    ], %w[no_number_available NoNumberAvailable]]
  }.freeze

  # Values of the kinds that one API knows.
  KINDS = {
    "links" => { link_status: [301, 302, 307, 308] }, "items" => { item_tags: [%w[a b]] },
    "stats" => { segment: %w[track page screen identify group alias], per: %w[minute hour day],
                 by: %w[total path event bot], json_type: %w[object string integer],
                 visitor: %w[0123456789abcdef0123456789abcdef user:ann] },
    "leaderboards" => { operator: %w[best set min max last sum], direction: ["desc", "asc", %w[asc desc]],
                        digit: [0, 1, 2], ties: %w[earliest member], season: ["day", nil], zone: %w[UTC Europe/Berlin],
                        score: [1, -5, "2.5", [1, 2]], member: ["ann", "bob", ApiFuzz::TEXT], ranks: %w[1..10 5..],
                        style: %w[ordinal dense competition modified fractional], current: [1] },
    "ring_pools" => { numbers: [-> { Array.new(3) { "+1888#{rand(2_000_000..9_999_999)}" } }],
                      telephone: %w[+18885550000 888-555-0001],
                      policy: %w[longest_idle round_robin random sticky], gone: [1], place: ["one"],
                      signals: [%w[a b]], share: [0.5], size: [2, 10] }
  }.freeze

  def self.fuzz(name)
    (@fuzzes ||= {})[name] ||= begin
      server_class, routes, expected = APPS.fetch(name)
      server = server_class.new({}, {})
      Minitest.after_run { server.remove }
      fuzz = ApiFuzz.new(server, spec: name, routes: routes, expected: expected || [])
      fuzz.keep(**KINDS.fetch(name))
      [server, fuzz]
    end
  end

  # Makes what the requests are about.
  def prepare(name, server, fuzz)
    case name
    when "links"
      code = Array.new(2) { server.create(tags: ["a"])["code"] }.first
      fuzz.keep(code: [code, "nothing1"], cursor: [server.get("/links?limit=1").json["next_cursor"]])
    when "items" then fuzz.keep(uuid: [server.post("/items", { name: "x", tags: %w[alpha] }).json["uuid"]])
    when "leaderboards"
      wanted = [{ decimals: 2 }, { decimals: 2 }, { order: %w[desc asc] }, { parts: 2, ties: "member" }]
      boards = wanted.map { |fields| server.create(**fields) }
      boards.each { |board| server.submit(board, "ann", 1) }
      ids = boards.map { |path| path[/\d+\z/] }
      server.submit(boards[0], "bob", 2)
      cursor = server.get("#{boards[0]}/members?limit=1").json["after"]
      server.put("#{boards[0]}/bans/bob")
      fuzz.keep(board: ids.first(3), gone: [ids.last], game: [server.get(boards[0]).json["game_id"]], cursor: [cursor])
    when "ring_pools"
      pool = server.create(Array.new(5) { "+1888#{rand(2_000_000..9_999_999)}" })
      lease = server.post("/pools/#{pool['id']}/leases", { session: "s" }).json["lease"]
      server.post(NETWORK.gsub(":place", "one") << ".json",
                  { id_from_network: "one", numbers: Array.new(2) { "+1888#{rand(2_000_000..9_999_999)}" },
                    allow_overflow: false })
      fuzz.keep(pool: [pool["id"]], key: [pool["api_key"]], lease: [lease],
                suffix: ["#{pool['id']}/allocate_number.json?ring_pool_key=#{pool['api_key']}&a=1"])
    end
  end

  def test_apps
    Fuzz.run(self) do |random|
      name = APPS.keys.sample(random: random)
      server, fuzz = self.class.fuzz(name)
      prepare(name, server, fuzz)
      REQUESTS.times { fuzz.request(random) }
    end
  end
end
