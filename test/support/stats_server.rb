# frozen_string_literal: true

require_relative "app_server"

# Owns a real collector of a test: apps/stats.
class StatsServer < AppServer
  APP = File.expand_path("../../apps/stats/app.rb", __dir__)

  # @param settings [Hash] of the app, by name without `stats_`
  # @param options [Hash] of Elah, by name
  def initialize(settings, options)
    super(settings.transform_keys { |name| "stats_#{name}" },
          { sink_retry_max_seconds: 0.2, sink_adopt_seconds: 0.1 }.merge(options))
  end

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

  # @param text [String]
  # @return [Boolean] whether it stands anywhere on the disk: in a journal, in the store, or in the log
  def written?(text)
    files = Dir.glob(File.join(@folder, "**", "*")).select { |path| File.file?(path) }
    @process.log.include?(text) || files.any? { |path| File.binread(path).include?(text) }
  end
end
