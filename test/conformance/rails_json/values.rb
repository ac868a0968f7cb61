# frozen_string_literal: true

# Owns one side of the comparison with Grape under ActiveSupport and ActiveRecord: an API whose endpoints return what
# Rails apps return. Run as `ruby values.rb grape|elah`; it writes the responses to standard output as JSON.
# `ruby values.rb rails` writes what `to_json` makes of each value instead, where there is no Grape.
require "active_record"
require "active_support/all"
require "json"
require "stringio"

if ARGV.fetch(0) == "grape"
  require "grape"
  API_BASE = Grape::API
elsif ARGV.first == "rails"
  API_BASE = Object
else
  $LOAD_PATH.unshift(File.expand_path("../../../lib", __dir__))
  require "elah"
  API_BASE = Elah::API
end

Time.zone = "UTC"
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: ":memory:")
ActiveRecord::Schema.verbose = false
ActiveRecord::Schema.define do
  create_table(:users) do |table|
    table.string(:name)
    table.decimal(:balance, precision: 8, scale: 2)
    table.timestamps
  end
end

# A record.
class User < ActiveRecord::Base; end

at = Time.utc(2026, 1, 2, 3, 4, 5.678r)
User.create!(name: "Ann <ann@example.org>", balance: "12.50", created_at: at, updated_at: at)
User.create!(name: "Björn", balance: nil, created_at: at, updated_at: at)

Point = Struct.new(:x, :y)

# Knows nothing of JSON.
class Plain
  def initialize = @value = Time.utc(2026)
end

# Has a `to_json` alone.
class OwnText
  def initialize = @hidden = 1
  def to_json(*) = { own: Time.utc(2026) }.to_json
end

# Has an `as_json` alone.
class OwnForm
  def as_json(options = nil) = { form: Time.utc(2026), options: options.to_h }
end

# Has both, which disagree.
class Both
  def as_json(*) = { form: 1 }
  def to_json(*) = '{"text":1}'
end

# A list of its own.
class Names < Array; end

VALUES = {
  record: -> { User.first }, records: -> { User.order(:id) }, found: -> { User.where(name: "nobody") },
  loaded: -> { User.order(:id).to_a }, columns: -> { User.order(:id).pluck(:name, :created_at) },
  chosen: -> { User.first.as_json(only: :name) }, hash: -> { { user: User.first } },
  zone: -> { Time.zone.at(1.678r) }, time: -> { Time.at(1.5).utc }, date: -> { Date.new(2024, 2, 29) },
  datetime: -> { DateTime.new(2024, 1, 2, 3, 4, 5) }, set: -> { Set[1, Time.utc(2026)] },
  struct: -> { Point.new(1, Time.utc(2026)) }, duration: -> { 3.days }, decimal: -> { BigDecimal("1.50") },
  nan: -> { Float::NAN }, infinite: -> { [-Float::INFINITY] }, decimal_nan: -> { BigDecimal("NaN") },
  plain: -> { Plain.new }, own_text: -> { OwnText.new }, own_form: -> { OwnForm.new }, both: -> { Both.new },
  range: -> { 1..3 }, symbol: -> { :a }, regexp: -> { /a/ }, error: -> { ArgumentError.new("x") },
  html: -> { "<a>&\u2028" }, safe: -> { "<b>".html_safe },
  indifferent: -> { ActiveSupport::HashWithIndifferentAccess.new(at: Time.utc(2026)) },
  enumerator: -> { [1, Time.utc(2026)].each }, rational: -> { 3r }, big: -> { 2**70 },
  uri: -> { URI("http://example.org/") }, path: -> { Pathname.new("/a") },
  merged: -> { User.first.attributes.merge(name: "hidden") },
  same: -> { { 1.5 => 1, BigDecimal("1.5") => 2, "a" => { b: 1, "b" => [{ c: 1, "c" => 2 }] }, a: 3 } },
  keys: -> { { 1 => 2, nil => 3, Time.utc(2026) => 4, sym: 5 } }, names: -> { Names[1, Time.utc(2026)] },
  nothing: -> {}, object: -> { Object.new }, deep: -> { [[Point.new(1, 2)], { a: { b: Plain.new } }] }
}.freeze

if ARGV.first == "rails"
  texts = VALUES.flat_map { |name, value| [["alone #{name}", value.call], ["inside #{name}", { list: [value.call] }]] }
  puts JSON.generate(texts.to_h { |name, value| [name, JSON.parse(value.to_json)] })
  exit
end

# Each value alone and inside of others.
class Api < API_BASE
  format :json
  VALUES.each do |name, value|
    get("alone/#{name}") { instance_exec(&value) }
    get("inside/#{name}") { { list: [instance_exec(&value)] } }
  end
  params { optional :at, type: Time }
  get(:parameters) { params }
end

def ask(path, query = "")
  env = { "REQUEST_METHOD" => "GET", "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => query,
          "SERVER_NAME" => "example.org", "SERVER_PORT" => "80", "rack.url_scheme" => "http",
          "rack.input" => StringIO.new, "rack.errors" => $stderr }
  status, headers, body = Api.call(env)
  text = +""
  body.each { |piece| text << piece }
  # A name that is written twice is read once, so names are counted, too.
  [status, headers.to_h.transform_keys(&:downcase)["content-type"], text.scan(/"\w+":/).size, JSON.parse(text)]
end

responses = VALUES.keys.product(%w[alone inside]).to_h { |name, place| ["#{place} #{name}", ask("/#{place}/#{name}")] }
responses["parameters"] = ask("/parameters", "at=2026-01-02T03:04:05Z&b[c]=d")
puts JSON.generate(responses)
