# frozen_string_literal: true

# Kills the collector at random under load, with its destination gone for a while: every event that was answered is
# stored and counted once, and at every look accepted = delivered + queued + dead. And what it says when the journal is
# full.
require "test_helper"
require "support/patience"
require "support/stats_server"

class StatsKillTest < Minitest::Test
  include Patience

  CLIENTS = 3
  KILLS = 3
  PREFERENCES = ["durability=memory", "durability=disk", "durability=delivered, wait=1"].freeze

  def patience_seconds = 90

  def setup
    @random = Random.new(Minitest.seed)
    @answered = Queue.new
    @failed = Queue.new
  end

  def test_what_was_answered_is_there_once_however_often_the_worker_is_killed
    @server = StatsServer.new({}, {})
    @server.put("/schemas/Bad", { required: ["never"] })
    clients = Array.new(CLIENTS) { |number| Thread.new { send_batches(number, Random.new(Minitest.seed + number)) } }
    KILLS.times do
      enough = @answered.size + @random.rand(20..100)
      wait_until("#{enough} are answered (seed #{Minitest.seed})") { @answered.size >= enough }
      @server.kill_and_restart
      @server.account
    end
    @stopping = true
    clients.each(&:join)
    wait_until("nothing is queued (seed #{Minitest.seed})") { @server.account[2].zero? }
    assert_everything_is_there
  ensure
    @stopping = true
    clients&.each(&:join)
    @server&.remove
  end

  # Nothing listens at the destination's port, so that everything stays in the journal.
  def test_a_journal_that_is_full_is_said_and_nothing_of_it_is_lost
    settings = { destination: "nats://127.0.0.1:#{TCPServer.open('127.0.0.1', 0) { |server| server.addr[1] }}" }
    StatsServer.start(settings: settings, sink_journal_bytes_max: 300_000, sink_event_bytes_max: 20_000) do |stats|
      answers = Array.new(400) { |n| stats.post("/stats/batch", [{ n: n, text: "x" * 2000 }]) }
      statuses = answers.map(&:status)
      assert_equal [200, 503], statuses.uniq
      full = answers[statuses.index(503)]
      assert_equal %w[journal_full 1], [full.json["code"], full["retry-after"]]
      assert_equal 503, stats.get("/stats?text=#{'x' * 7000}").status
      assert_equal [200, 503, 503], %w[/livez /readyz /sinkz].map { |path| stats.get(path).status }
      accepted = statuses.count(200)
      assert_equal [accepted, 0, accepted, 0], stats.account
      stats.kill_and_restart
      assert_equal [accepted, 0, accepted, 0], stats.account
    end
  end

  private

  # Sends until it is told to stop. What was not answered is sent again with the same ids, as a client does.
  def send_batches(number, random)
    (1..).each do |n|
      batch = Array.new(random.rand(1..5)) do |k|
        { id: "#{number}-#{n}-#{k}", path: "/#{number}", event: random.rand(20).zero? ? "Bad" : "Good" }
      end
      begin
        answer = @server.post("/stats/batch", batch, headers: { "Prefer" => PREFERENCES[random.rand(3)] })
        is_answered = [200, 422].include?(answer.status)
        is_answered ? batch.each { |event| @answered << event } : @failed << answer.body
      rescue SystemCallError, IOError, HttpClient::Closed, HttpClient::Silence
        Thread.pass
        @stopping ? break : retry
      end
      break if @stopping
    end
  end

  def assert_everything_is_there
    events = Array.new(@answered.size) { @answered.pop }
    bad, good = events.partition { |event| event[:event] == "Bad" }
    parked = parked_ids
    assert_empty bad.map { |event| id(event) } - parked, "seed #{Minitest.seed}: bad ones that are not parked"
    assert_operator @server.get("/stats/rollups?per=day").json["as_of"]["offset"], :>=, good.size
    counted = @server.paths
    CLIENTS.times do |number|
      # One batch per client may have been accepted, and its answer cut off when the test ended.
      answered = good.count { |event| event[:path] == "/#{number}" }
      assert_includes answered..answered + 5, counted["/#{number}"], "seed #{Minitest.seed}: client #{number}"
    end
    assert_equal 0, @failed.size, -> { @failed.pop }
  end

  def parked_ids
    ids = []
    after = nil
    loop do
      page = @server.get("/parked?limit=1000#{"&after=#{after}" if after}").json
      ids.concat(page["events"].map { |event| event["id"] })
      after = page["next_after"] or return ids
    end
  end

  def id(event) = Elah::Sink.id_of("\0#{event[:id]}")
end
