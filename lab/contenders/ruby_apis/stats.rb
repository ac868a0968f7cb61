# frozen_string_literal: true

# Events on ActiveRecord, a row for each, as the original had a document for each: specs/stats.md as far as the lab measures it. An
# event is answered when it is in the table that sums are read from. What rails, grape, sinatra and em_synchrony have in common.
require "active_record"
require "digest"
require "json"
require "rack"
require "securerandom"
require "time"
require_relative "database"
require_relative "problem"

module Stats
  class Event < ActiveRecord::Base; end

  module_function

  UNITS = { "minute" => 60, "hour" => 3600, "day" => 86_400 }.freeze
  BUCKETS = 60
  PRIVATE_HEADERS = %w[HTTP_COOKIE HTTP_AUTHORIZATION HTTP_X_FORWARDED_FOR HTTP_VERSION].freeze
  JSON_TYPE = "application/json"
  FORM_TYPE = "application/x-www-form-urlencoded"
  BOT = /bot|crawl|spider/i
  SECRET = SecureRandom.bytes(32)

  # @param folder [String] of the database
  # @param threads [Integer] that will use it
  def open(folder, threads)
    Database.open(folder, "stats", threads) do
      create_table(:events) do |table|
        table.bigint :accepted_ms, null: false, index: true
        table.string :path, null: false
        table.text :params, null: false
        table.text :headers, null: false
        table.string :ip
        table.string :visitor
        table.string :bot
      end
    end
  end

  # @param env [Hash] of Rack
  # @return [Hash] the answer
  def record(env)
    request = Rack::Request.new(env)
    agent = env["HTTP_USER_AGENT"]
    ip = request.ip.to_s.sub(/\.\d+\z/, ".0")
    row = { accepted_ms: (Time.now.to_f * 1000).to_i, path: request.path, params: JSON.generate(params(request)),
            headers: JSON.generate(headers(env)), ip: ip, visitor: visitor(request.ip, agent), bot: bot(agent) }
    Database.exclusively { Event.insert!(row) }
    { durability: "delivered" }
  end

  # @return [Hash] sums over time
  def rollups(per, from)
    seconds = UNITS.fetch(per || "minute") { raise Problem.new(400, "validation_failed") }
    since = from ? Time.iso8601(from).to_i : Time.now.to_i - ((BUCKETS - 1) * seconds)
    columns = ["accepted_ms - accepted_ms % #{seconds * 1000}", "COUNT(*)", "COUNT(bot)", "COUNT(DISTINCT visitor)"].map { |sql| Arel.sql(sql) }
    rows = Event.where("accepted_ms >= ?", since / seconds * seconds * 1000).group(columns.first).pluck(*columns).map do |at, events, bots, visitors|
      { at: Time.at(at / 1000).utc.iso8601, events: events, bots: bots, **(per == "day" ? { visitors: visitors } : {}) }
    end
    { per: per || "minute", by: "total", as_of: { offset: Event.count, queued: 0 }, rows: rows, next_cursor: nil }
  rescue ArgumentError
    raise Problem.new(400, "invalid_time")
  end

  def params(request)
    return request.GET unless request.post?
    return request.GET.merge(request.POST) if request.media_type == FORM_TYPE

    request.body.rewind
    text = request.body.read
    return request.GET.merge("text" => text).reject { |_, value| value == "" } unless request.media_type == JSON_TYPE || text.start_with?("{")

    JSON.parse(text).then { |fields| fields.is_a?(Hash) ? fields : raise(Problem.new(422, "not_an_object")) }
  rescue JSON::ParserError
    raise Problem.new(400, "malformed_json")
  end

  def headers(env)
    sent = env.select { |name, _| name.start_with?("HTTP_") }.except(*PRIVATE_HEADERS)
    sent.transform_keys { |name| name.delete_prefix("HTTP_").tr("_", "-").downcase }
  end

  def visitor(address, agent) = Digest::SHA256.hexdigest("#{SECRET}#{Time.now.to_i / 86_400}#{address}#{agent}")[0, 32]

  def bot(agent)
    return "no_agent" if agent.nil?

    "agent" if agent.match?(BOT)
  end
end
