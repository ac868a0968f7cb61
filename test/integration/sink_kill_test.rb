# frozen_string_literal: true

# Kills the worker and the destination at random while clients send events. Every event that was answered is in the
# table once, or is a dead letter if the table cannot hold it; and at every look what was accepted is delivered, queued
# or dead.
require "test_helper"
require "support/elah_server"
require "support/patience"
require "support/servers"

class SinkKillTest < Minitest::Test
  include Patience

  APP = <<~'RUBY'
    SQL = Elah::SQL.new(ENV.fetch("DATABASE"), connections_max: 2, connect_seconds: 2, query_seconds: 2)
    EVENTS = Elah::Sink.new("events", to: Elah::Sink::SQLTable.new(SQL, "events"), retry_seconds: 0.01,
                                      retry_max_seconds: 0.2, adopt_seconds: 0.1, batch_events_max: 100)

    class App < Elah::API
      helpers Elah::Sink::Preference

      post(:events) do
        id, stream, text = request.body.split(",")
        push_as_preferred(EVENTS, { text: text == "poison" ? "\0" : text }, id: id, stream: stream)
        status 202
        ""
      end
      mount Elah::Sink::Report => "/sinks"
    end
    run App
  RUBY

  CLIENTS = 4
  KILLS = %i[worker destination worker freeze worker].freeze
  PREFERENCES = [nil, "durability=disk", "durability=delivered, wait=1"].freeze
  POISON_SHARE = 50

  def patience_seconds = 90

  def setup
    @data = Dir.mktmpdir("elah-sink")
    @database = Servers::PostgreSQL.start(durable: true)
    @sql = Elah::SQL.new(@database.url, connections_max: 1)
    Elah::Sink::SQLTable.new(@sql, "events").create
    @seed = Minitest.seed
    @random = Random.new(@seed)
    @answered = Queue.new
    @failed = Queue.new
  end

  def teardown
    @stopping = true
    @clients&.each(&:join)
    @server&.kill
    @sql.close
    @database.remove
    FileUtils.remove_entry(@data, true)
  end

  def test_nothing_that_was_accepted_is_lost_and_the_law_holds
    start_server
    @clients = Array.new(CLIENTS) { |number| Thread.new { send_events(number, Random.new(@seed + number)) } }
    KILLS.each do |kill|
      enough = @answered.size + @random.rand(50..400)
      wait_until("#{enough} are answered (seed #{@seed})") { @answered.size >= enough }
      send(kill)
      assert_law
    end
    @stopping = true
    @clients.each(&:join)
    wait_until("nothing is queued (seed #{@seed}): #{@server.get('/sinks').body}") { report["total"]["queued"].zero? }
    assert_everything_is_there
  end

  private

  def worker
    @server.signal(:KILL)
    @server.wait_until_ended
    start_server
  end

  def destination
    @database.kill
    assert_law
    @database.start
  end

  # A destination that takes connections and says nothing.
  def freeze
    @database.pause
    assert_law
  ensure
    @database.resume
  end

  def start_server
    @server = ElahServer.start(APP, data: @data, env: { "DATABASE" => @database.url })
  end

  # Sends until it is told to stop. What was not answered is sent again with the same id, as a client does.
  def send_events(number, random)
    client = nil
    (1..).each do |n|
      id = Elah::Sink.id_of("#{@seed}-#{number}-#{n}")
      text = random.rand(POISON_SHARE).zero? ? "poison" : "event #{n}"
      prefer = PREFERENCES[random.rand(PREFERENCES.size)]
      begin
        client ||= HttpClient.open(@server.url, seconds: 30)
        answer = client.request("POST", "/events", headers: { "Prefer" => prefer || "none" },
                                                   body: "#{id},s#{number},#{text}")
        answer.status == 202 ? @answered << [id, text] : @failed << [answer.status, answer.body]
      rescue SystemCallError, IOError, HttpClient::Closed, HttpClient::Silence
        client&.close
        client = nil
        Thread.pass
        @stopping ? break : retry
      end
      break if @stopping
    end
  ensure
    client&.close
  end

  def report = @server.get("/sinks").json["sinks"].first

  def assert_law
    found = @server.get("/sinks").json
    assert found["holds"], "seed #{@seed}: #{found}"
  end

  def assert_everything_is_there
    answered = Array.new(@answered.size) { @answered.pop }
    good, poison = answered.partition { |_, text| text != "poison" }
    stored = @sql.rows("SELECT id FROM events").flatten
    dead = Elah::Sink.new("events", folder: File.join(@data, "sinks", "events"),
                                    deliver: false).dead_letters(limit: 100_000)
    assert_empty good.map(&:first) - stored, "seed #{@seed}: answered and lost"
    assert_empty poison.map(&:first) - dead.map(&:id), "seed #{@seed}: poison that is no dead letter"
    assert_match(/22P05|u0000|null/i, dead.first.reason) if dead.any?
    total = report["total"]
    assert_equal [0, dead.size], total.values_at("queued", "dead"), "seed #{@seed}"
    assert_equal total["accepted"], total["delivered"] + total["dead"], "seed #{@seed}"
    assert_operator total["accepted"], :>=, answered.size, "seed #{@seed}"
    refused = Array.new(@failed.size) { @failed.pop }.reject { |status, _| status == 422 }
    assert_empty refused.first(3), "seed #{@seed}: refused"
  end
end
