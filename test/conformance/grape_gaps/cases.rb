# frozen_string_literal: true

# What Elah leaves out of Grape, and the differences that show at boot or under ActiveSupport: one side's results of the
# same code, as JSON on standard output. Run as `ruby cases.rb grape|elah`.
require "json"
require "stringio"
require "active_support"
require "active_support/json"
require "active_support/core_ext/object/json"

if ARGV.fetch(0) == "grape"
  require "grape"
  API_BASE = Grape::API
else
  $LOAD_PATH.unshift(File.expand_path("../../../lib", __dir__))
  require "elah"
  require "elah/api"
  API_BASE = Elah::API
end

# The cases by the names that the test has.
module GrapeGaps
  # Shows what it represents, as an entity of grape-entity does.
  Entity = Struct.new(:object) do
    def self.represent(object, _options = {}) = new(object)
    def serializable_hash = { shown: object }
  end

  # Without a JSON form, but with a text.
  Failure = Struct.new(:reason) do
    def as_json(*) = { "reason" => reason }
    def to_s = "failed: #{reason}"
  end

  REQUEST_METHODS = %i[url base_url ip params user_agent get? post? cookies session port media_type].freeze
  OF_GRAPE_2 = %i[do_not_document! api_format lint!].freeze

  # Rack middleware that marks what passes.
  class Mark
    def initialize(app) = @app = app

    def call(env)
      status, headers, body = @app.call(env)
      [status, headers.merge("X-Mark" => "1"), body]
    end
  end

  CASES = {
    object_as_text: -> { ask(api { format :txt; get(:x) { Object.new } }) },
    escaped_json: -> { ask(api { format :json; get(:x) { { a: "<&>" } } }) },
    text_as_values: lambda do
      ask(api { format :txt; params { requires :role, values: "admin" }; get(:x) { params[:role] } }, query: "role=dm")
    end,
    wrong_rescue: -> { ask(api { rescue_from("StandardError") { "x" }; get(:x) { raise "y" } }) },
    mount_with: -> { ask(api { mount GrapeGaps.api { get(:x) { configuration[:a].to_s } }, with: { a: "given" } }) },
    use: -> { ask(api { use Mark; get(:x) { "y" } }, headers: %w[X-Mark]) },
    http_basic: -> { ask(api { http_basic { |_name, _password| false }; get(:x) { "y" } }) },
    xml_of_a_hash: -> { ask(api { format :xml; get(:x) { { a: 1 } } }) },
    xml_body: lambda do
      api = api do
        content_type :txt, "text/plain"
        content_type :xml, "application/xml"
        default_format :txt
        post(:x) { params.key?(:a).to_s }
      end
      ask(api, verb: "POST", body: "<a>1</a>", type: "application/xml")
    end,
    translated: lambda do
      I18n.t("grape.errors.messages.presence") # loads the translations, which would replace this one
      I18n.backend.store_translations(:en, grape: { errors: { messages: { presence: "is needed" } } })
      ask(api { params { requires :a }; get(:x) { "y" } })
    end,
    build_with: lambda do
      builder = defined?(Grape) ? Grape::Extensions::Hash::ParamBuilder : Hash
      ask(api { params { build_with(builder) }; get(:x) { params.key?("a").to_s } }, query: "a=1")
    end,
    endpoints: -> { api { get(:x) { "y" } }.endpoints.size },
    versions: -> { api { version "v1", using: :path; get(:x) { "y" } }.versions },
    request_methods: lambda do
      ask(api { get(:x) { REQUEST_METHODS.reject { |name| request.respond_to?(name) }.join(" ") } })
    end,
    version_in_the_requests_environment: lambda do
      ask(api { version "v1", using: :path; get(:x) { request.env["api.version"].inspect } }, path: "/v1/x")
    end,
    endpoint_in_the_environment: lambda do
      seen = env("/x")
      api { get(:x) { "y" } }.call(seen)
      seen.key?("api.endpoint")
    end,
    context: lambda do
      ask(api { rescue_from(:all) { |_| error!(context.params[:a], 418) }; get(:x) { raise "y" } }, query: "a=1")
    end,
    recognize_path: -> { api { get(:x) { "y" } }.recognize_path("/x").nil? },
    before_each: lambda do
      endpoints = defined?(Grape) ? Grape::Endpoint : Elah::Framework::Endpoint
      endpoints.before_each { |endpoint| endpoint.define_singleton_method(:helped) { "set" } }
      ask(api { get(:x) { helped } })
    ensure
      Grape::Endpoint.before_each(nil) if defined?(Grape)
    end,
    unnamed_wildcard: -> { ask(api { get("f/*") { params.values.map(&:class).join(" ") } }, path: "/f/a/b") },
    any_at_the_root: lambda do
      ask(api { namespace(:n) { get { "y" }; route(:any, "*path") { "any" } } }, path: "/n", verb: "DELETE")
    end,
    no_cascade: lambda do
      api = api { version "v1", using: :header, vendor: "a", cascade: false; get(:x) { "y" } }
      ask(api, path: "/z", headers: %w[X-Cascade])
    end,
    parents_declared: lambda do
      ask(api do
        format :json
        params { requires :a }
        namespace(:n) { get(:x) { declared(params, include_parent_namespaces: false).to_h } }
      end, path: "/n/x", query: "a=1")
    end,
    entity_of_an_error: lambda do
      ask(api { format :json; desc("x", http_codes: [[418, "Teapot", Entity]]); get(:x) { error!({ a: 1 }, 418) } })
    end,
    list_of_formats: lambda do
      api = api { content_type :json, "application/json"; default_format :json; get(:x) { {} } }
      ask(api, query: "format[]=json")
    end,
    true_class: lambda do
      ask(api { params { requires :a, type: TrueClass }; get(:x) { params[:a].to_s } }, query: "a=true")
    end,
    false_class: lambda do
      ask(api { params { requires :a, type: FalseClass }; get(:x) { params[:a].to_s } }, query: "a=false")
    end,
    error_object_as_json: -> { ask(api { format :json; get(:x) { error!(Failure.new("late"), 418) } }) },
    error_object_as_text: -> { ask(api { format :txt; get(:x) { error!(Failure.new("late"), 418) } }) },
    error_nil: -> { ask(api { format :json; get(:x) { error!(nil, 418) } }) },
    of_grape_2: -> { OF_GRAPE_2.reject { |name| API_BASE.respond_to?(name) }.join(" ") },
    block_of_grape_exceptions: lambda do
      ask(api { rescue_from(:grape_exceptions) { |_| error!("mine", 418) }; params { requires :a }; get(:x) { "y" } })
    end
  }.freeze

  class << self
    def api(&block) = Class.new(API_BASE, &block)

    # @return [Array] the status, the body, and the values of `headers`
    def ask(api, path: "/x", verb: "GET", query: "", body: "", type: nil, headers: [])
      status, all, pieces = api.call(env(path, verb, query, body, type))
      text = +""
      pieces.each { |piece| text << piece }
      found = all.to_h.transform_keys(&:downcase)
      [status, text, *headers.map { |name| found[name.downcase] }]
    end

    def env(path, verb = "GET", query = "", body = "", type = nil)
      { "REQUEST_METHOD" => verb, "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => query,
        "SERVER_NAME" => "a", "SERVER_PORT" => "80", "rack.url_scheme" => "http", "rack.version" => [1, 3],
        "rack.input" => StringIO.new(body), "rack.errors" => StringIO.new, "CONTENT_LENGTH" => body.bytesize.to_s,
        "CONTENT_TYPE" => type }.compact
    end

    # @return [Object] the case's value, or the class of what it raises
    def result(name)
      instance_exec(&CASES.fetch(name))
    rescue StandardError, NotImplementedError => e
      { raised: e.class.name }
    end
  end
end

puts JSON.generate(GrapeGaps::CASES.keys.to_h { |name| [name, GrapeGaps.result(name)] })
