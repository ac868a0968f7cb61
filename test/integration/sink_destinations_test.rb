# frozen_string_literal: true

# Each destination with the real server: what arrives, what comes twice, what it does not take, and when it is gone.
require "test_helper"
require "support/mongo_proxy"
require "support/sink_case"
require "support/servers"
require "support/slow_proxy"

class SinkDestinationsTest < SinkCase
  # What every destination promises. A case gives `destination`, `rows` (ids and data), `refused` (an event that it
  # cannot hold), and for those with a server `server`.
  module Promises
    def test_events_arrive_once_however_often_they_are_sent
      events = sink(to: destination)
      receipt = events.push_all(Array.new(300) { |n| { n: n, text: "Grüße \u{1F600}" } }, durability: :delivered,
                                                                                          stream: "s", wait_seconds: 60)
      assert_equal :delivered, receipt.durability
      again = events.push_all(Array.new(300) { |n| { n: n, text: "again" } }, ids: receipt.ids, durability: :delivered,
                                                                              wait_seconds: 60)
      assert_equal :delivered, again.durability
      found = rows
      assert_equal receipt.ids.sort, found.map(&:first).sort
      assert_equal [*0...300], found.map { |_, data| data["n"] }.sort
      assert_equal ["Grüße \u{1F600}"], found.map { |_, data| data["text"] }.uniq
      assert_equal [600, 600, 0, 0], account(events)
    end

    def test_a_batch_that_comes_twice_as_a_whole_changes_nothing
      batch = Array.new(20) do |n|
        Elah::Sink::Event.new(Elah::Sink::Id.raw(Elah::Sink.id_of(n.to_s)), +"s", 1_000, true, +%({"n":#{n}}))
      end
      2.times { destination.deliver(batch + batch.first(3)) }
      assert_equal 20, rows.size
    end
  end

  # What those promise whose server may be away.
  module AwayPromises
    def test_while_it_is_gone_events_wait_and_then_arrive
      events = sink(to: destination)
      events.push({ n: 0 }, durability: :delivered, wait_seconds: 60)
      server.stop
      events.push_all(Array.new(10) { |n| { n: n + 1 } }, durability: :disk)
      wait_until("it was asked") { !events.health.ok? }
      assert_equal [11, 1, 10, 0], account(events)
      server.start
      assert events.flush(wait_seconds: 60)
      assert_equal [*0..10], once_available { rows }.map { |_, data| data["n"] }.sort
      assert_equal [11, 11, 0, 0], account(events)
    end
  end

  # What those promise that have a server of their own.
  module ServerPromises
    include AwayPromises

    def test_what_it_cannot_hold_is_parked_and_the_rest_arrives
      events = sink(to: destination)
      events.push_all([{ n: 1 }, refused, { n: 2 }], durability: :disk)
      assert events.flush(wait_seconds: 60)
      assert_equal [1, 2], rows.map { |_, data| data["n"] }.sort
      assert_equal 1, events.dead_letters.size, events.dead_letters.map(&:reason).inspect
      assert_equal [3, 2, 0, 1], account(events)
    end
  end

  # A table of Elah::SQL.
  module InTables
    def setup
      super
      @sql = Elah::SQL.new(server.url, connections_max: 4)
      @sql.execute("DROP TABLE IF EXISTS events")
      @table = Elah::Sink::SQLTable.new(@sql, "events").create
    end

    def teardown
      super
      @sql.close
    end

    def destination = @table

    def rows
      @sql.rows("SELECT id, data FROM events").map { |id, data| [id, data.is_a?(Hash) ? data : JSON.parse(data)] }
    end

    def test_columns_of_ones_own
      @sql.execute("DROP TABLE IF EXISTS visits")
      @sql.execute("CREATE TABLE visits (id char(36) PRIMARY KEY, path varchar(5), n integer)")
      table = Elah::Sink::SQLTable.new(@sql, "visits", columns: %w[path n]) do |event|
        event.data.values_at("path", "n")
      end
      visits = sink(to: table)
      visits.push_all([{ path: "/a", n: 1 }, { path: "/too long", n: 2 }, { path: "/b", n: 3 }], durability: :disk)
      assert visits.flush(wait_seconds: 60)
      assert_equal [["/a", 1], ["/b", 3]], @sql.rows("SELECT path, n FROM visits ORDER BY n")
      assert_match(/too long/i, visits.dead_letters.first.reason)
    end

    def own_table(columns, *names, &row)
      @sql.execute("DROP TABLE IF EXISTS visits")
      @sql.execute("CREATE TABLE visits (id char(36) PRIMARY KEY, #{columns})")
      Elah::Sink::SQLTable.new(@sql, "visits", columns: names, &row)
    end

    # ON DUPLICATE KEY UPDATE of MariaDB dropped the second one, which counted as delivered.
    def test_an_event_that_another_unique_key_refuses_is_parked_and_one_that_comes_again_is_not
      columns = %w[number n]
      table = own_table("number varchar(20) UNIQUE, n integer", *columns) { |event| event.data.values_at(*columns) }
      visits = sink(to: table)
      first = visits.push({ number: "A-1", n: 1 }, durability: :delivered, wait_seconds: 60)
      visits.push_all([{ number: "A-2", n: 2 }, { number: "A-1", n: 3 }, { number: "A-4", n: 4 }], durability: :disk)
      visits.push({ number: "A-1", n: 1 }, id: first.id, durability: :disk)
      assert visits.flush(wait_seconds: 60)
      assert_equal [1, 2, 4], @sql.rows("SELECT n FROM visits ORDER BY n").flatten
      assert_match(/UniqueViolation/, visits.dead_letters.first.reason)
      assert_equal [5, 4, 0, 1], account(visits)
    end

    # Such an error counted as one of the server, so the batch was sent again for ever.
    def test_an_event_that_a_trigger_refuses_is_parked
      table = own_table("n integer", "n") { |event| [event.data["n"]] }
      trigger.each { |statement| @sql.execute(statement) }
      visits = sink(to: table)
      visits.push_all([{ n: 1 }, { n: -1 }, { n: 2 }], durability: :disk)
      assert visits.flush(wait_seconds: 60)
      assert_equal [1, 2], @sql.rows("SELECT n FROM visits ORDER BY n").flatten
      assert_match(/no negative number/, visits.dead_letters.first.reason)
    end

    # Two events with 3 values together for 2 columns each once had a value of the other one's.
    def test_an_event_whose_block_returns_another_number_of_values_is_parked
      table = own_table("path varchar(9), agent varchar(9)", "path", "agent") { |event| event.data.values }
      visits = sink(to: table)
      visits.push_all([{ path: "/a", agent: "c" }, { path: "/b" }, { path: "/c", agent: "c", more: "m" },
                       { path: "/d", agent: "c" }], durability: :disk)
      assert visits.flush(wait_seconds: 60)
      assert_equal [%w[/a c], %w[/d c]], @sql.rows("SELECT path, agent FROM visits ORDER BY path")
      assert_match(/The row has 1 values for the 2 columns path, agent/, visits.dead_letters.first.reason)
      assert_equal [4, 2, 0, 2], account(visits)
    end

    def test_a_table_that_is_not_there_is_waited_for
      @sql.execute("DROP TABLE events")
      events = sink(to: @table)
      events.push({ n: 1 }, durability: :disk)
      wait_until("it was tried") { !events.health.ok? }
      @table.create
      assert events.flush(wait_seconds: 60)
      assert_equal [1, 1, 0, 0], account(events)
    end
  end

  class PostgreSQLTest < SinkDestinationsTest
    include InTables
    include Promises
    include ServerPromises

    def server = Servers::PostgreSQL.shared
    def refused = { n: 9, text: "\0" }

    def trigger
      ["CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " \
       "IF NEW.n < 0 THEN RAISE EXCEPTION 'no negative number'; END IF; RETURN NEW; END $$",
       "CREATE TRIGGER refuses BEFORE INSERT ON visits FOR EACH ROW EXECUTE FUNCTION refuse()"]
    end

    def test_an_event_that_is_too_long_for_an_index_is_parked
      table = own_table("path text", "path") { |event| [event.data["path"]] }
      @sql.execute("CREATE INDEX ON visits (path)")
      visits = sink(to: table)
      visits.push_all([{ path: "/a" }, { path: Random.bytes(6000).unpack1("H*") }, { path: "/b" }], durability: :disk)
      assert visits.flush(wait_seconds: 60)
      assert_equal %w[/a /b], @sql.rows("SELECT path FROM visits ORDER BY path").flatten
      assert_match(/54000: index row requires/, visits.dead_letters.first.reason)
    end
  end

  class MariaDBTest < SinkDestinationsTest
    include InTables
    include Promises
    include ServerPromises

    def setup
      super
      @sql.execute("ALTER TABLE events ADD CONSTRAINT small CHECK (JSON_VALUE(data, '$.n') < 1000)")
    end

    def server = Servers::MariaDB.shared
    def refused = { n: 1001 }

    def trigger
      ["CREATE TRIGGER refuses BEFORE INSERT ON visits FOR EACH ROW " \
       "IF NEW.n < 0 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no negative number'; END IF"]
    end

    # The server closes the connection at such a statement, so it was sent again for ever.
    def test_a_batch_above_max_allowed_packet_is_sent_in_parts_and_a_longer_event_is_parked
      allowed = @sql.value("SELECT @@GLOBAL.max_allowed_packet")
      @sql.execute("SET GLOBAL max_allowed_packet = 1048576")
      small = Elah::SQL.new(server.url, connections_max: 1)
      visits = sink(to: Elah::Sink::SQLTable.new(small, "events"), event_bytes_max: 4 * 1024 * 1024)
      texts = ["x" * 2_000_000, *(["x" * 10_000] * 200)]
      visits.push_all(texts.map { |text| { n: 1, text: text } }, durability: :disk)
      assert visits.flush(wait_seconds: 60)
      assert_equal 200, rows.size
      reason = visits.dead_letters.first.reason
      assert_match(/2000\d\d\d bytes, above the server's max_allowed_packet of 1048576/, reason)
      assert_equal [201, 200, 0, 1], account(visits)
    ensure
      @sql.execute("SET GLOBAL max_allowed_packet = #{allowed}")
      small&.close
    end

    # Their SQLSTATE is HY000, as that of a full disk.
    def test_an_event_that_fits_no_partition_is_parked
      table = own_table("n integer", "n") { |event| [event.data["n"]] }
      @sql.execute("ALTER TABLE visits DROP PRIMARY KEY, ADD PRIMARY KEY (id, n) " \
                   "PARTITION BY RANGE (n) (PARTITION few VALUES LESS THAN (10))")
      visits = sink(to: table)
      visits.push_all([{ n: 1 }, { n: 11 }, { n: 2 }], durability: :disk)
      assert visits.flush(wait_seconds: 60)
      assert_equal [1, 2], @sql.rows("SELECT n FROM visits ORDER BY n").flatten
      assert_equal [3, 2, 0, 1], account(visits)
    end
  end

  class MongoTest < SinkDestinationsTest
    include Promises
    include ServerPromises

    UNMET = { writeConcernError: { code: 64, codeName: "WriteConcernFailed", errmsg: "replication timed out" } }.freeze

    def setup
      super
      @mongo = Elah::Mongo.new(server.url)
      @collection = @mongo["events"]
      @collection.delete_many({})
    end

    def teardown
      super
      @mongo.close
    end

    # The server refuses one of two such commands as a whole: the event became a dead letter.
    def test_an_event_that_two_processes_deliver_at_once_is_stored_once
      clients = Array.new(4) { Elah::Mongo.new(server.url) }
      destinations = clients.map { |client| Elah::Sink::MongoCollection.new(client["events"]) }
      300.times do |n|
        event = Elah::Sink::Event.new([n].pack("x8Q>"), +"", 0, true, +"{}")
        destinations.map { |one| Thread.new { one.deliver([event]) } }.each(&:join)
      end
      assert_equal 300, rows.size
    ensure
      clients&.each(&:close)
    end

    # A duplicate key of any index counted as an event that came again, so the event was nowhere.
    def test_an_event_that_another_unique_index_refuses_is_parked_and_one_that_comes_again_is_not
      @collection.create_index({ "data.number" => 1 }, unique: true)
      events = sink(to: destination)
      first = events.push({ n: 1, number: "A-1" }, durability: :delivered, wait_seconds: 60)
      events.push_all([{ n: 2, number: "A-2" }, { n: 3, number: "A-1" }, { n: 4, number: "A-4" }], durability: :disk)
      events.push({ n: 1, number: "A-1" }, id: first.id, durability: :disk)
      assert events.flush(wait_seconds: 60)
      assert_equal [1, 2, 4], rows.map { |_, data| data["n"] }.sort
      assert_match(/duplicate key/, events.dead_letters.first.reason)
      assert_equal [5, 4, 0, 1], account(events)
    ensure
      @collection.drop
    end

    # They counted as the fault of each event, so all became dead letters.
    def test_while_the_server_is_in_trouble_events_wait_and_then_arrive
      through_proxy do |proxy, mongo|
        troubles = { 14_031 => "OutOfDiskSpace", 13 => "Unauthorized", 100 => "UnsatisfiableWriteConcern" }
        troubles.each { |code, name| proxy.reply({ ok: 0.0, code: code, codeName: name, errmsg: name }) }
        proxy.reply({ ok: 1.0, n: 2, writeErrors: [{ index: 1, code: 112, errmsg: "WriteConflict" }] })
        proxy.reply({ ok: 1.0, n: 3, **UNMET }, stores: true)
        events = sink(to: Elah::Sink::MongoCollection.new(mongo["events"]))
        events.push_all(Array.new(3) { |n| { n: n } }, durability: :disk)
        assert events.flush(wait_seconds: 60)
        assert_equal [0, 1, 2], rows.map { |_, data| data["n"] }.sort
        assert_equal [3, 3, 0, 0], account(events)
      end
    end

    # The good event counted as delivered, and a failover might have lost it.
    def test_a_write_concern_that_is_not_met_beside_a_bad_event_is_waited_for
      through_proxy do |proxy, mongo|
        refused = { index: 1, code: 121, errmsg: "Document failed validation" }
        2.times { |n| proxy.reply({ ok: 1.0, n: 1, writeErrors: [refused], **(n.zero? ? UNMET : {}) }, stores: true) }
        events = sink(to: Elah::Sink::MongoCollection.new(mongo["events"]))
        events.push_all(Array.new(2) { |n| { n: n } }, durability: :disk)
        assert events.flush(wait_seconds: 60)
        refute_empty @pauses, "the insert was repeated"
        assert_equal ["Document failed validation (121)"], events.dead_letters.map(&:reason)
      end
    end

    def through_proxy
      proxy = MongoProxy.new(server.port)
      mongo = Elah::Mongo.new("mongodb://127.0.0.1:#{proxy.port}/test")
      yield proxy, mongo
    ensure
      mongo&.close
      proxy&.close
    end

    def server = @@server ||= Servers::MongoJavaServer.start(durable: true)
    def destination = Elah::Sink::MongoCollection.new(@collection)
    def rows = @collection.find({}).to_a.map { |document| [document["_id"], document["data"]] }
    def refused = { "n" => 9, "a\0b" => 1 }
  end

  class JetStreamTest < SinkDestinationsTest
    include Promises
    include ServerPromises

    def setup
      super
      name = "EVENTS#{@folder.hash.abs}"
      @stream = Elah::Sink::JetStream.new(server.url, stream: name, subject: "events.#{name}").create
      @nats = Elah::Sink::NATSConnection.new(server.url)
      @name = name
    end

    def teardown
      super
      @stream.close
      @nats.close
    end

    def server = Servers::NATS.shared
    def destination = @stream
    def refused = { n: 9, text: "x" * 70_000 }

    def rows
      state = JSON.parse(@nats.request([["$JS.API.STREAM.INFO.#{@name}", {}, ""]]).first).fetch("state")
      messages = (1..state["messages"]).map do |number|
        JSON.parse(@nats.request([["$JS.API.STREAM.MSG.GET.#{@name}", {}, %({"seq":#{number}})]]).first)["message"]
      end
      messages.map do |message|
        id = message["hdrs"].unpack1("m")[/Nats-Msg-Id: (\S+)/, 1]
        [id, JSON.parse(message["data"].unpack1("m"))]
      end
    end

    def test_a_subject_that_no_stream_takes_and_a_wrong_password_are_said_in_words
      nobody = Elah::Sink::JetStream.new(server.url, stream: "NOBODY")
      event = Elah::Sink::Event.new("x" * 16, +"", 0, true, +"{}")
      error = assert_raises(Elah::Unavailable) { nobody.deliver([event]) }
      assert_match(/No NATS stream accepts the subject NOBODY/, error.message)
      wrong = Elah::Sink::JetStream.new(server.url.sub("secret", "wrong"), stream: "NOBODY")
      error = assert_raises(Elah::Unavailable) { wrong.deliver([event]) }
      assert_match(/Authorization Violation/i, error.message)
      refute_match(/wrong/, error.message)
      ["http://127.0.0.1", "nats://", "nats://a,http://b", "", [], "nats://a b"].each do |url|
        assert_raises(Elah::OptionError, url.inspect) { Elah::Sink::JetStream.new(url, stream: "S") }
      end
      assert_raises(Elah::OptionError) { Elah::Sink::JetStream.new(server.url, stream: "S", ca_file: "/nowhere.pem") }
      assert_raises(Elah::OptionError) { Elah::Sink::JetStream.new(server.url, stream: "S.*") }
    end
  end

  # Bad days of JetStream beside a server that is gone.
  class JetStreamBadDaysTest < SinkDestinationsTest
    def stream(url, name, **options) = Elah::Sink::JetStream.new(url, stream: name, **options)

    def batch(count)
      Array.new(count) do |n|
        Elah::Sink::Event.new(Elah::Sink::Id.raw(Elah::Sink.id_of(n.to_s)), +"s", 1_000, true, +%({"n":#{n}}))
      end
    end

    def stored(server, name)
      connection = Elah::Sink::NATSConnection.new(server.url, ca_file: server.ca_file)
      JSON.parse(connection.request([["$JS.API.STREAM.INFO.#{name}", {}, ""]]).first).dig("state", "messages")
    ensure
      connection&.close
    end

    def test_a_server_that_is_killed_in_the_middle_of_a_batch_has_each_event_once_in_the_end
      server = Servers::NATS.start
      made = stream(server.url, "KILLED").create
      events = sink(to: made, batch_events_max: 50)
      receipt = events.push_all(Array.new(2000) { |n| { n: n } }, durability: :disk)
      wait_until("some have arrived") { stored(server, "KILLED").positive? }
      server.kill
      server.start
      assert events.flush(wait_seconds: 60)
      assert_equal receipt.ids.size, stored(server, "KILLED")
      assert_equal [2000, 2000, 0, 0], account(events)
    ensure
      server&.remove
    end

    def test_events_go_to_the_next_server_when_one_is_gone
      servers = Array.new(2) { Servers::NATS.start }
      servers.each { |server| stream(server.url, "TWO").create }
      both = stream(servers.map(&:url).join(","), "TWO")
      both.deliver(batch(1))
      assert_equal [1, 0], servers.map { |server| stored(server, "TWO") }
      servers.first.stop
      both.deliver(batch(2))
      assert_equal 2, stored(servers.last, "TWO")
      servers.last.stop
      error = assert_raises(Elah::Unavailable) { 2.times { both.deliver(batch(3)) } }
      refute_match(/secret/, error.message)
    ensure
      servers&.each(&:remove)
    end

    def test_a_slow_server_ends_an_attempt_and_not_the_sink
      server = Servers::NATS.start
      stream(server.url, "SLOW").create
      SlowProxy.start(server.port, seconds: 1) do |proxy|
        slow = stream(server.url.sub(server.port.to_s, proxy.port.to_s), "SLOW")
        assert_raises(Elah::DeadlineExceeded, Timeout::Error) { Elah.timeout(0.5) { slow.deliver(batch(1)) } }
        slow.deliver(batch(1))
      end
      assert_equal 1, stored(server, "SLOW")
    ensure
      server&.remove
    end

    def test_tls_is_checked_and_no_password_goes_without_it
      server = Servers::NATS.start(tls: true)
      stream(server.url, "TLS", ca_file: server.ca_file).create.deliver(batch(3))
      stream(server.url.sub("tls:", "nats:"), "TLS", ca_file: server.ca_file).deliver(batch(5))
      assert_equal 5, stored(server, "TLS")
      error = assert_raises(Elah::Unavailable) { stream(server.url, "TLS").deliver(batch(1)) }
      assert_match(/TLS failed: .*certificate verify failed/, error.message)
      elsewhere = server.url.sub("127.0.0.1", "127.0.0.2")
      assert_raises(Elah::Unavailable) { stream(elsewhere, "TLS", ca_file: server.ca_file).deliver(batch(1)) }
      plain = Servers::NATS.start
      error = assert_raises(Elah::Unavailable) { stream(plain.url.sub("nats:", "tls:"), "TLS").deliver(batch(1)) }
      assert_match(/it has no TLS/, error.message)
    ensure
      [server, plain].compact.each(&:remove)
    end

    def test_tls_suspends_the_fiber_alone
      server = Servers::NATS.start(tls: true)
      stream(server.url, "LOOP", ca_file: server.ca_file).create
      ticks = 0
      SlowProxy.start(server.port, seconds: 0.1) do |proxy|
        slow = stream(server.url.sub(server.port.to_s, proxy.port.to_s), "LOOP", ca_file: server.ca_file)
        Elah.run do
          Elah.every(0.001) { ticks += 1 }
          slow.deliver(batch(200))
        end
      end
      assert_operator ticks, :>, 10
      assert_equal 200, stored(server, "LOOP")
    ensure
      server&.remove
    end
  end

  class StoreTest < SinkDestinationsTest
    include Promises

    def setup
      super
      @store = Elah::Store.open(File.join(@folder, "store"))
    end

    def teardown
      super
      @store.close
    end

    def destination = Elah::Sink::StoreTable.new(@store, "events")
    def rows = @store.table("events").range(limit: 10_000).map { |id, bytes| [id, JSON.parse(bytes)] }
  end

  # A table of a store on a cluster. Each event that came while PostgreSQL was away was a dead letter.
  class ClusterTest < SinkDestinationsTest
    include Promises
    include AwayPromises

    def setup
      super
      @store = Elah::Store.open(server.url)
      @table = @store.table("events#{@folder.hash.abs}")
    end

    def teardown
      super
      @store.close
    end

    def server = Servers::PostgreSQL.shared
    def destination = Elah::Sink::StoreTable.new(@store, @table.name)
    def rows = @table.range(limit: 10_000).map { |id, bytes| [id, JSON.parse(bytes)] }
  end
end
