# frozen_string_literal: true

require "fileutils"
require "json"
require "tmpdir"
require_relative "elah_server"

# Owns a real collector of a test: apps/stats on data that outlives the process, so that a test may kill it and start it again.
class StatsServer
  APP = File.expand_path("../../apps/stats/app.rb", __dir__)
  SILENCE_SECONDS = 60

  # @return [ElahServer] the process that runs now
  attr_reader :process

  # @param settings [Hash] of the app, by name without `stats_`
  # @param options [Hash] of Elah, by name
  # @yieldparam server [StatsServer] stopped after the block
  def self.start(settings: {}, **options)
    server = new(settings, options)
    result = yield server
    server.process.stop
    result
  ensure
    server&.remove
  end

  def initialize(settings, options)
    @folder = Dir.mktmpdir("stats-data")
    @arguments = settings.flat_map { |name, value| ["--set", "stats_#{name}=#{value}"] }
    @options = { sink_retry_max_seconds: 0.2, sink_adopt_seconds: 0.1 }.merge(options)
    run
  end

  # Kills the process as `kill -9` does, and starts another on the same data.
  def kill_and_restart
    @process.signal(:KILL)
    @process.wait_until_ended
    @process.kill
    run
  end

  def run = @process = ElahServer.start(APP, arguments: @arguments, data: @folder, **@options)

  def remove
    @process&.kill
    FileUtils.remove_entry(@folder)
  end

  # Sends one request; a Hash or an Array as body is sent as JSON.
  #
  # @return [HttpClient::Answer]
  def request(verb, path, body: nil, headers: {})
    unless body.nil? || body.is_a?(String)
      body = JSON.generate(body)
      headers = { "Content-Type" => "application/json" }.merge(headers)
    end
    @process.connect(seconds: SILENCE_SECONDS) { |client| client.request(verb, path, body: body, headers: headers) }
  end

  def get(path, **rest) = request("GET", path, **rest)
  def post(path, body = nil, **rest) = request("POST", path, body: body, **rest)
  def put(path, body = nil, **rest) = request("PUT", path, body: body, **rest)
  def delete(path, **rest) = request("DELETE", path, **rest)

  # Records an event and waits until it is delivered.
  #
  # @return [Hash] as it is stored
  def record(params, headers: {})
    answer = post("/stats", params, headers: { "Prefer" => "durability=delivered, wait=30" }.merge(headers))
    raise "#{answer.status} #{answer.body}" unless answer.json["durability"] == "delivered"

    answer.json["id"]
  end

  # @return [Array(Integer, Integer, Integer, Integer)] accepted, delivered, queued, dead
  # @raise [RuntimeError] when the law does not hold
  def account
    report = get("/sinks").json
    raise "The law does not hold: #{report}" unless report["holds"]

    report["sinks"].first["total"].values_at("accepted", "delivered", "queued", "dead")
  end

  # @return [Hash] events by path, of today
  def paths = get("/stats/rollups?per=day&by=path").json["rows"].to_h { |row| [row["path"], row["events"]] }
end
