# frozen_string_literal: true

# The collector in front of each real server: events arrive there by their ids, a server that is gone is waited for and
# said, and a visitor is forgotten there too.
require "test_helper"
require "support/patience"
require "support/servers"
require "support/stats_server"
require "elah/sink/jet_stream"
require_relative "../../apps/stats/destination"

class StatsDestinationsTest < Minitest::Test
  include Patience

  AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"

  def patience_seconds = 90

  # A case gives `server` (with `url`, `stop` and `start`), and `ids`, what arrived.
  module Promises
    def test_events_arrive_by_their_ids_and_wait_while_the_server_is_gone
      StatsServer.start(settings: { destination: server.url }) do |stats|
        first = stats.record({ path: "/a" }, headers: { "User-Agent" => AGENT })
        assert_equal [first], ids
        assert_equal 200, stats.get("/sinkz").status

        server.stop
        answer = stats.post("/stats/batch", [{ path: "/b", id: "b" }, { path: "/b", id: "b" }],
                            headers: { "Prefer" => "durability=disk" })
        assert_equal [200, "disk"], [answer.status, answer.json["durability"]]
        wait_until("it is said") { stats.get("/sinkz").status == 503 }
        assert_equal [200, 200], [stats.get("/livez").status, stats.get("/readyz").status]
        assert_equal [3, 1, 2, 0], stats.account
        assert_equal 2, stats.get("/stats/rollups").json["as_of"]["queued"]

        server.start
        wait_until("all is delivered") { stats.account == [3, 3, 0, 0] }
        assert_equal [first, Elah::Sink.id_of("\0b")].sort, once_available { ids }.sort
        assert_equal({ "/a" => 1, "/b" => 1 }, stats.paths)
        check_erasure(stats)
      end
    end

    def check_erasure(stats)
      visitor = stats.get("/visitors/me", headers: { "User-Agent" => AGENT }).json["visitors"].last
      assert_equal({ "stored" => 0, "parked" => 0, "delivered" => 1 },
                   stats.delete("/visitors/#{visitor}").json["erased"])
      assert_equal [Elah::Sink.id_of("\0b")], ids
      check_removal(stats, { "User-Agent" => "#{AGENT} another" })
    end

    # Events of others stay, whoever has sent one with their IDs.
    def check_removal(stats, agent)
      event = stats.record({ path: "/c" }, headers: agent)
      visitor = stats.get("/visitors/me", headers: agent).json["visitors"].last
      destination = Stats::Destination.of(server.url)
      destination.remove("other", ids)
      assert_equal [Elah::Sink.id_of("\0b"), event].sort, ids.sort
      destination.remove(visitor, [Elah::Sink.id_of("gone"), *ids])
      assert_equal [Elah::Sink.id_of("\0b")], ids
    end
  end

  # A table.
  module InTables
    def setup
      super
      @sql = Elah::SQL.new(server.url, connections_max: 1)
      @sql.execute("DROP TABLE IF EXISTS stats_events")
    end

    def teardown
      @sql.close
      super
    end

    def ids = @sql.rows("SELECT id FROM stats_events").flatten
  end

  class PostgreSQLTest < StatsDestinationsTest
    include InTables
    include Promises

    # The response had the address of the database and the statement.
    def test_a_sender_does_not_see_the_words_of_the_database
      StatsServer.start(settings: { destination: server.url }) do |stats|
        answer = stats.post("/stats", { x: "\0" }, headers: { "Prefer" => "durability=delivered, wait=60" })
        assert_equal [422, "The destination rejected the event."], [answer.status, answer.json["detail"]]
        assert_match(/stats_events/, stats.get("/parked").json["events"].first["reason"])
      end
    end

    def server = Servers::PostgreSQL.shared
  end

  class MariaDBTest < StatsDestinationsTest
    include InTables
    include Promises

    # information_schema.innodb_trx stays as it was while it is read more often than ten times a second.
    WAITING = "SELECT variable_value FROM information_schema.global_status " \
              "WHERE variable_name = 'innodb_row_lock_current_waits'"

    # The erasure locked every row, and failed as a deadlock. A deadlock about its own rows is tried again.
    def test_a_visitor_is_erased_while_a_batch_is_inserted
      destination = Stats::Destination::SQL.new(server.url)
      assert_equal 0, destination.erase("none")
      insert(@sql, %w[b d], visitor: "one")
      erased = nil
      @sql.transaction do |batch|
        insert(batch, ("e00".."e50").to_a)
        erased = Thread.new { destination.erase("one") }
        other = Elah::SQL.new(server.url, connections_max: 1, query_seconds: 10)
        wait_until("the erasure waits for the batch") { other.value(WAITING).to_i == 1 }
        insert(other, ["c"])
        other.close
        insert(batch, ["a", *("c00".."c50"), "d"])
      end
      assert_equal 2, erased.value
      assert_equal 104, ids.size
    end

    def insert(sql, ids, visitor: "two")
      rows = ids.map { |id| "('#{id}', 's', now(), '{\"visitor\":\"#{visitor}\"}')" }
      sql.execute("INSERT INTO stats_events VALUES #{rows.join(', ')} ON DUPLICATE KEY UPDATE id = id")
    end

    def server = Servers::MariaDB.shared
  end

  class MongoTest < StatsDestinationsTest
    include Promises

    def setup
      super
      @mongo = Elah::Mongo.new(server.url)
      @mongo["stats_events"].delete_many({})
    end

    def teardown
      @mongo.close
      super
    end

    def server = @@server ||= Servers::MongoJavaServer.start(durable: true)
    def ids = @mongo["stats_events"].find({}).to_a.map { |document| document["_id"] }
  end

  class NATSTest < StatsDestinationsTest
    include Promises

    def server = Servers::NATS.shared

    def ids
      nats = Elah::Sink::NATSConnection.new(server.url)
      count = JSON.parse(nats.request([["$JS.API.STREAM.INFO.stats_events", {}, ""]]).first).fetch("state")["messages"]
      (1..count).map do |number|
        request = ["$JS.API.STREAM.MSG.GET.stats_events", {}, %({"seq":#{number}})]
        headers = JSON.parse(nats.request([request]).first)["message"]["hdrs"].unpack1("m")
        headers[/Nats-Msg-Id: (\S+)/, 1]
      end
    ensure
      nats.close
    end

    # A stream cannot forget one event.
    def check_erasure(stats)
      answer = stats.delete("/visitors/#{'0' * 32}")
      assert_equal [501, "erasure_unsupported"], [answer.status, answer.json["code"]]
    end
  end
end
