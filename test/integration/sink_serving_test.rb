# frozen_string_literal: true

# Sinks inside a server: durability by the request's header, a full journal, the report, what is left at a start, and
# the command line.
require "test_helper"
require "support/elah_server"
require "support/patience"
require "json"
require "open3"

class SinkServingTest < Minitest::Test
  include Patience

  APP = <<~'RUBY'
    Elah.config # as a script that asks for it early
    EVENTS = Elah::Sink.new("events", event_bytes_max: 4096, journal_bytes_max: 65_536,
                                      retry_max_seconds: 0.05, adopt_seconds: 0.05) do |batch|
      raise Elah::Unavailable, "gone" if File.exist?("gone")
      batch.each { |event| raise ArgumentError, "no number" unless event["n"] }
      File.write("delivered", batch.map { |event| "#{event["n"]}\n" }.join, mode: "a")
    end

    class App < Elah::API
      format :json
      helpers Elah::Sink::Preference

      post :events do
        receipt = push_as_preferred(EVENTS, params, stream: "web")
        status 202
        { id: receipt.id, durability: receipt.durability }
      end
      mount Elah::Sink::Report => "/sinks"
    end
    run App
  RUBY

  def setup
    @data = Dir.mktmpdir("elah-sink")
    @server = ElahServer.start(APP, data: @data)
  end

  def teardown
    @server&.kill
    FileUtils.remove_entry(@data, true)
  end

  def post(event, prefer: nil)
    headers = { "Content-Type" => "application/json" }
    headers["Prefer"] = prefer if prefer
    @server.request("POST", "/events", headers: headers, body: JSON.generate(event))
  end

  def report = @server.get("/sinks").json
  def totals = report["sinks"].first["total"].values_at("accepted", "delivered", "queued", "dead")
  def file(name) = File.join(@server.folder, name)
  def delivered = File.exist?(file("delivered")) ? File.readlines(file("delivered"), chomp: true) : []

  def test_the_answer_says_which_durability_was_met
    { nil => "memory", "durability=disk" => "disk", "durability=delivered" => "delivered" }.each do |prefer, met|
      answer = post({ n: 1 }, prefer: prefer)
      assert_equal [202, met, "durability=#{met}"],
                   [answer.status, answer.json["durability"], answer["Preference-Applied"]]
    end
    FileUtils.touch(file("gone"))
    assert_equal "disk", post({ n: 1 }, prefer: "durability=delivered, wait=1").json["durability"]
    assert_equal [4, 3, 1, 0], totals
    refute report["sinks"].first["destination"]["ok"]
    assert report["holds"]
  end

  def test_a_full_journal_is_a_503_with_retry_after_and_goes_on
    FileUtils.touch(file("gone"))
    answer = @server.connect do |client|
      body = JSON.generate({ n: 7, text: "x" * 2000 })
      request = { headers: { "Content-Type" => "application/json" }, body: body }
      (1..).lazy.map { client.request("POST", "/events", **request) }.find { |each| each.status != 202 }
    end
    assert_equal [503, "overloaded"], [answer.status, answer.json["code"]]
    assert_match(/\A\d+\z/, answer["Retry-After"])
    accepted, _, queued, = totals
    assert_equal accepted, queued
    FileUtils.rm(file("gone"))
    wait_until("all is delivered") { totals == [accepted, accepted, 0, 0] }
    assert_equal 202, post({ n: 1 }).status
  end

  def test_an_event_that_is_too_large_is_a_413
    answer = post({ text: "x" * 5000 })
    assert_equal [413, "event_too_large"], [answer.status, answer.json["code"]]
  end

  def test_what_was_left_is_delivered_at_the_next_start
    FileUtils.touch(file("gone"))
    3.times { |n| post({ n: n }) }
    @server.signal(:KILL)
    @server.wait_until_ended
    @server = ElahServer.start(APP, data: @data)
    wait_until("it is delivered") { delivered == %w[0 1 2] }
    wait_until("it is settled") { totals == [3, 3, 0, 0] }
    @server.stop
  end

  # Files of somebody else, and a journal that cannot be opened.
  def test_what_cannot_be_taken_over_keeps_no_server_from_starting
    @server.stop
    folder = File.join(@data, "sinks/events")
    FileUtils.touch(File.join(folder, "journal-7"))
    File.symlink("/nowhere", File.join(folder, "journal-8"))
    FileUtils.mkdir_p(File.join(folder, "journal-9/lock"))
    FileUtils.touch(File.join(folder, "journal-9/00000000000000000000.segment"))
    @server = ElahServer.start(APP, data: @data)
    assert_equal 202, post({ n: 1 }, prefer: "durability=delivered").status
    @server.wait_for(/The sink events cannot take a journal over and tries again later: Elah::Sink::CannotOpen/)
  end

  # Each worker has a journal; one that is killed leaves it to the other, and the one in its place takes a free one.
  def test_workers_share_a_sink_and_take_over_what_a_dead_one_left
    @server.kill
    @server = ElahServer.start(APP, data: @data, workers: 2)
    FileUtils.touch(file("gone"))
    answered = Array.new(20) { |n| n if post({ n: n }).status == 202 }.compact
    wait_until("both workers have a journal") do
      Dir.children(File.join(@data, "sinks/events")).grep(/journal/).size >= 2
    end
    victim = File.read("/proc/#{@server.pid}/task/#{@server.pid}/children").split.first.to_i
    Process.kill(:KILL, victim)
    FileUtils.rm(file("gone"))
    wait_until("all is delivered") { (answered.map(&:to_s) - delivered).empty? }
    wait_until("all is settled") { totals == [answered.size, answered.size, 0, 0] }
  end

  def test_the_report_takes_get_alone
    assert_equal 405, @server.request("POST", "/sinks").status
    assert_equal 200, @server.request("HEAD", "/sinks").status
    post({ n: 1 })
    assert_equal 0, @server.get("/sinks?minutes=0").json["sinks"].first["streams"]["web"]["minutes"].size
  end

  def test_dead_letters_are_listed_replayed_and_discarded_by_command
    answer = post({ m: 1 })
    2.times { post({ n: 2 }) }
    wait_until("it is parked") { totals == [3, 2, 0, 1] }
    id = answer.json["id"]
    assert_match(/^events +3 +2 +0 +1$/, elah("status"))
    assert_match(/^#{id}  \S+Z  ArgumentError: no number$/, elah("dead", "events"))
    assert_equal({ "m" => 1 }, JSON.parse(elah("show", "events", id)))
    assert_equal "Put 1 event into the journal again.\n", elah("replay", "events")
    wait_until("it is parked again") { totals == [3, 2, 0, 1] && elah("dead", "events").include?(id) }
    assert_equal "Discarded 1 dead letter.\n", elah("discard", "events", id)
    assert_equal [2, 2, 0, 0], totals
  end

  def test_the_command_says_what_is_wrong
    assert_match(/No sink nothing/, elah("status", "nothing", status: 2))
    assert_match(/Unknown action statsu.*Did you mean status/, elah("statsu", status: 2))
    assert_match(/needs the name/, elah("dead", status: 2))
    assert_match(/Invalid event ID 7/, elah("show", "events", "7", status: 2))
    assert_match(/elah: The argument "\\xFF\\e" is not valid UTF-8\./, elah("show", "events", "\xFF\e", status: 2))
    assert_match(/needs IDs/, elah("show", "events", status: 2))
    assert_match(/needs IDs/, elah("discard", "events", status: 2))
    assert_match(/IDs of dead letters or --all, not both/, elah("discard", "events", "0", "--all", status: 2))
    assert_match(/elah sink status/, elah)
  end

  # The list stopped there.
  def test_the_command_passes_over_folders_that_are_no_sinks
    FileUtils.mkdir_p(File.join(@data, "sinks", "(copy) events"))
    FileUtils.mkdir_p(File.join(@data, "sinks", "lost+found"))
    refute_match(/copy|lost/, elah("status"))
  end

  private

  def elah(*words, status: 0)
    out, ended = Open3.capture2e(ElahServer::EXECUTABLE, "sink", *words, "--data", @data)
    assert_equal status, ended.exitstatus, out
    out
  end
end
