# frozen_string_literal: true

# Events with the rules of specs/stats.md that the lab measures, a row or a document for each, as in the original. An event is answered when it is
# where sums are read from. What rails, grape, sinatra and em_synchrony have in common; each adds its routes.
require "digest"
require "json"
require "rack"
require "securerandom"
require "time"
require_relative "problem"

module Stats
  module_function

  UNITS = { "minute" => 60, "hour" => 3600, "day" => 86_400 }.freeze
  BUCKETS = 60
  PRIVATE_HEADERS = %w[HTTP_COOKIE HTTP_AUTHORIZATION HTTP_X_FORWARDED_FOR HTTP_VERSION].freeze
  JSON_TYPE = "application/json"
  FORM_TYPE = "application/x-www-form-urlencoded"
  BOT = /bot|crawl|spider/i
  SECRET = SecureRandom.bytes(32)

  class << self
    # @return [Rows, Documents]
    attr_reader :store
  end

  # @param folder [String] of the database
  # @param threads [Integer] that will use it
  def open(folder, threads)
    if ENV.fetch("STORE", "").start_with?("mongodb:")
      require_relative "stats/documents"
      @store = Documents.new(ENV.fetch("STORE"), threads)
    else
      require_relative "stats/rows"
      @store = Rows.new(folder, threads)
    end
  end

  # @param env [Hash] of Rack
  # @return [Hash] the answer
  def record(env)
    request = Rack::Request.new(env)
    agent = env["HTTP_USER_AGENT"]
    ip = request.ip.to_s.sub(/\.\d+\z/, ".0")
    store.insert(accepted_ms: (Time.now.to_f * 1000).to_i, path: request.path, params: params(request), headers: headers(env), ip: ip,
                 visitor: visitor(request.ip, agent), bot: bot(agent))
    { durability: "delivered" }
  end

  # @return [Hash] sums over time
  def rollups(per, from)
    seconds = UNITS.fetch(per || "minute") { raise Problem.new(400, "validation_failed") }
    since = from ? Time.iso8601(from).to_i : Time.now.to_i - ((BUCKETS - 1) * seconds)
    rows = store.sums(since / seconds * seconds * 1000, seconds * 1000).map do |at, events, bots, visitors|
      { at: Time.at(at / 1000).utc.iso8601, events: events, bots: bots, **(per == "day" ? { visitors: visitors } : {}) }
    end
    { per: per || "minute", by: "total", as_of: { offset: store.count, queued: 0 }, rows: rows, next_cursor: nil }
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
