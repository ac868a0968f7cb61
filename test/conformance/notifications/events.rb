# frozen_string_literal: true

# Owns one side of the comparison with Grape of events: an API, and a subscriber that writes down what it receives.
# Run as `ruby events.rb grape|elah`; it writes the events of each request to standard output as JSON.
require "active_support"
require "active_support/notifications"
require "json"
require "stringio"

if ARGV.fetch(0) == "grape"
  require "active_support/all"
  require "grape"
  API_BASE = Grape::API
  EXCEPTIONS = Grape::Exceptions
else
  $LOAD_PATH.unshift(File.expand_path("../../../lib", __dir__))
  require "elah"
  API_BASE = Elah::API
  EXCEPTIONS = Elah::API::Exceptions
end

# The events of the last request, in the order of their ends.
RECORDED = []

# What of a payload is the same on both sides. An agent reads these.
def shown(payload)
  endpoint = payload[:endpoint]
  own = payload.except(:endpoint, :env, :validators, :request, :formatter, :exception, :exception_object)
  own[:filters] = Array(own[:filters]).map { |filter| filter.class.name } if own.key?(:filters)
  own[:validators] = payload[:validators].size if payload.key?(:validators)
  own[:formatter] = payload[:formatter].respond_to?(:call) if payload.key?(:formatter)
  own[:request] = !payload[:request].nil? if payload.key?(:request)
  own[:raised] = payload[:exception].first[/\w+\z/] if payload.key?(:exception)
  own[:env] = of_env(payload[:env]) if payload.key?(:env)
  endpoint ? own.merge(of_endpoint(endpoint)) : own
end

def of_env(env)
  { is_hash: env.is_a?(Hash), verb: env["REQUEST_METHOD"], path: env["PATH_INFO"], endpoint: !env["api.endpoint"].nil? }
end

# As agents name the endpoint.
def of_endpoint(endpoint)
  options = endpoint.options
  route = endpoint.routes.first
  { for: options[:for].base.name, path: options[:path], verbs: options[:method], namespace: route.namespace,
    origin: route.pattern.origin, status: endpoint.status, source: endpoint.source.source_location.last }
end

class Shop < API_BASE
  format :json
  prefix :api
  rescue_from(ArgumentError) { error!({ error: "rescued" }, 422) }

  before { header "x-before", "1" }
  after { header "x-after", "1" }

  get(:plain) { { hello: "world" } }
  get(:nothing) { status 204 }

  namespace :items do
    params { requires :id, type: Integer }
    get(":id") { { id: params[:id] } }

    params { optional :page, type: Integer, default: 1 }
    get { { page: params[:page] } }

    params { requires :name, type: String }
    post { { name: params[:name] } }
  end

  namespace :ends do
    before_validation { header "x-before-validation", "1" }
    after_validation { header "x-after-validation", "1" }
    get(:early) { error!("no", 418) }
    get(:rescued) { raise ArgumentError, "bad" }
    get(:failed) { raise IOError, "worse" }
  end
end

ActiveSupport::Notifications.subscribe(/\.grape\z/) do |name, _start, _finish, _id, payload|
  RECORDED << [name, shown(payload)]
end

REQUESTS = [
  %w[GET /api/plain], %w[GET /api/nothing], %w[GET /api/items/7], %w[GET /api/items/x], %w[GET /api/items],
  %w[GET /api/items?page=2], %w[POST /api/items], %w[GET /api/ends/early], %w[GET /api/ends/rescued],
  %w[GET /api/ends/failed]
].freeze

def call(verb, target)
  path, _, query = target.partition("?")
  Shop.call({ "REQUEST_METHOD" => verb, "PATH_INFO" => path, "SCRIPT_NAME" => "", "QUERY_STRING" => query,
              "SERVER_NAME" => "example.org", "SERVER_PORT" => "80", "rack.url_scheme" => "http",
              "rack.input" => StringIO.new, "rack.errors" => $stderr })
rescue IOError => e
  [e.class.name]
end

results = REQUESTS.to_h do |verb, target|
  RECORDED.clear
  status, = call(verb, target)
  ["#{verb} #{target}", { status: status, events: RECORDED.dup }]
end
puts JSON.generate(results)
