# frozen_string_literal: true

# Pools of telephone numbers on ActiveRecord, with the rules of specs/ring_pools.md that the lab measures: bulk requests. A number that is given
# stands at the end of its pool's index, and its lease is kept as a row. What rails, grape, sinatra and em_synchrony have in common.
require "active_record"
require "json"
require "securerandom"
require_relative "database"
require_relative "problem"

module RingPools
  class Pool < ActiveRecord::Base; end
  class Number < ActiveRecord::Base; end
  class Lease < ActiveRecord::Base; end

  # What is wrong with one row of a bulk request.
  class Failure < StandardError
    attr_reader :error_class

    def initialize(error_class, message)
      @error_class = error_class
      super(message)
    end
  end

  module_function

  ROWS = (1..1000).freeze
  SUFFIX = %r{\A(\d{1,9})/allocate_number\.json(?:\?(.*))?\z}m
  KEY = "ring_pool_key="
  KEY_HEADERS = %w[HTTP_X_RING_POOL_KEY HTTP_X_API_KEY].freeze
  DEFAULTS = { "name" => "", "lifetime_seconds" => 1800, "quarantine_seconds" => 0, "policy" => "longest_idle", "allow_overflow" => true,
               "tracking_url" => "", "draining" => false }.freeze
  SHOWN = %w[id name lifetime_seconds quarantine_seconds policy allow_overflow tracking_url draining api_key].freeze
  REFUSAL = { errors: { class: "RecordInvalid", invalid_data: "The body is an object with a list of 1 to 1000 requests" } }.freeze
  # One statement for the look-up and the hold: the free number that nobody has had for the longest time.
  TAKE = <<~SQL
    UPDATE numbers SET free_at = ? WHERE id = (SELECT id FROM numbers WHERE pool_id = ? AND free_at <= ? ORDER BY free_at, id LIMIT 1) RETURNING number
  SQL

  # @param folder [String] of the database
  # @param threads [Integer] that will use it
  def open(folder, threads)
    Database.open(folder, "ring_pools", threads) do
      create_table(:pools) do |table|
        table.string :api_key, :name, :policy, :tracking_url, null: false
        table.float :lifetime_seconds, :quarantine_seconds, null: false
        table.boolean :allow_overflow, :draining, null: false
        table.bigint :overflow_number
      end
      create_table(:numbers) do |table|
        table.bigint :number, null: false, index: { unique: true }
        table.references :pool, null: false, index: false
        table.bigint :free_at, null: false, default: 0
        table.index %i[pool_id free_at]
      end
      create_table(:leases) do |table|
        table.bigint :number, :begun_at, :held_until, null: false
        table.text :parameters, null: false
        table.index %i[number begun_at]
      end
    end
  end

  # @return [Hash] the new pool
  def create(fields)
    numbers = Array(fields["numbers"]).map { |text| e164(text) }
    raise Problem.new(422, "invalid_numbers") if numbers.size < 2 || numbers.uniq.size < numbers.size || numbers.include?(nil)

    given = DEFAULTS.merge(fields.slice(*DEFAULTS.keys))
    overflow = given["allow_overflow"] && (e164(fields["overflow_number"]) || raise(Problem.new(422, "invalid_overflow_number")))
    pool = Database.write do
      Pool.create!(**given, overflow_number: overflow || nil, api_key: SecureRandom.urlsafe_base64(24)).tap do |created|
        Number.insert_all!(numbers.map { |number| { number: number, pool_id: created.id } })
      end
    end
    { **pool.attributes.slice(*SHOWN), numbers: numbers.map { |number| "+#{number}" }, **(overflow ? { overflow_number: "+#{overflow}" } : {}) }
  rescue ActiveRecord::RecordNotUnique
    raise Problem.new(409, "number_taken")
  end

  # @param text [String] the body
  # @param env [Hash] of Rack
  # @return [Array] status, headers and document of the answer to a bulk request
  def bulk(text, env)
    started_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    rows = rows(text) or return [403, {}, REFUSAL]
    responses = allocate(rows, key_of(env))
    overflows = responses.count { |response| response[:overflow] }
    headers = { "processing-time" => ((Process.clock_gettime(Process::CLOCK_MONOTONIC) - started_at) * 1000).round(3).to_s }
    headers["overflow-reasons"] = "exhausted=#{overflows}" if overflows.positive?
    [200, headers, { responses: responses }]
  end

  # All rows of a request in one transaction.
  def allocate(rows, key)
    pools = Pool.where(id: rows.filter_map { |row| suffix(row)&.at(0) }.uniq).index_by(&:id)
    Database.write do
      leases = []
      now = Process.clock_gettime(Process::CLOCK_REALTIME, :microsecond)
      responses = rows.map { |row| respond(row, key, pools, now, leases) }
      Lease.insert_all!(leases) if leases.any?
      responses
    end
  end

  def respond(row, key, pools, now, leases)
    heading = row.is_a?(Hash) ? row.slice("request_id") : {}
    id, query = suffix(row)
    raise Failure.new("InvalidRequest", "A request has an api_suffix: POOL/allocate_number.json?ring_pool_key=KEY&NAME=VALUE") unless id

    pool = pools[id.to_i] or raise Failure.new("RecordNotFound", "Could not find RingPool '#{id}'")
    { **heading, **wire(pool, take(pool, parameters(pool, query.to_s, key), now, leases)) }
  rescue Failure => e
    { **heading, error_class: e.error_class, message: e.message }
  end

  # @return [String] what was given besides the key
  def parameters(pool, query, key)
    keys, others = query.split("&").partition { |parameter| parameter.start_with?(KEY) }
    offered = keys.first&.delete_prefix(KEY) || key
    unless offered && Rack::Utils.secure_compare(offered, pool.api_key)
      raise Failure.new("InvalidKey", "API Key '#{offered}' is not valid for resource '#{pool.id}'")
    end
    raise Failure.new("MissingParameter", "At least one RingPool parameter must be present, even if its value is empty") if others.empty?

    others.join("&")
  end

  # @return [Integer, nil] a number that is the caller's from now on
  def take(pool, parameters, now, leases)
    held_until = now + (pool.lifetime_seconds * 1e6).to_i
    free_at = held_until + (pool.quarantine_seconds * 1e6).to_i
    number = Database.rows(TAKE, free_at, pool.id, now).first&.fetch("number")
    leases << { number: number, begun_at: now, held_until: held_until, parameters: parameters } if number
    number
  end

  def wire(pool, number)
    shown = number || pool.overflow_number or raise Failure.new("NoNumberAvailable", "No number of RingPool '#{pool.id}' is free (exhausted)")
    text = shown.to_s.delete_prefix("1")
    joint = pool.tracking_url.include?("?") ? "&" : "?"
    url = pool.tracking_url.empty? ? "" : "#{pool.tracking_url}#{joint}sid=#{text}&PPCPN=#{text}"
    given = { promo_number_formatted: "#{text[0, 3]}-#{text[3, 3]}-#{text[6..]}", promo_number: text, tracking_url: url }
    number ? given : given.merge(overflow: true)
  end

  def rows(text)
    fields = JSON.parse(text)
    rows = fields["requests"] || fields["request"] if fields.is_a?(Hash)
    rows if rows.is_a?(Array) && ROWS.cover?(rows.size)
  rescue JSON::ParserError
    nil
  end

  # @return [Array(String, String), nil] id and query
  def suffix(row) = row.is_a?(Hash) && row["api_suffix"].is_a?(String) ? row["api_suffix"].match(SUFFIX)&.captures : nil

  def key_of(env) = env.values_at(*KEY_HEADERS).compact.first || env["HTTP_AUTHORIZATION"]&.delete_prefix("Bearer ")

  # @return [Integer, nil] the digits of a number in North America
  def e164(text)
    digits = text.to_s.gsub(/\D/, "")
    digits = "1#{digits}" if digits.size == 10
    digits.to_i if digits.match?(/\A1[2-9]\d{2}[2-9]\d{6}\z/)
  end
end
