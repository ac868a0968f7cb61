# frozen_string_literal: true

# Owns one side of the parity test: loads the files of apis.rb over Grape or over Elah, sends the requests of
# requests.yml to it, and writes the answers to standard output as JSON.
# Run as `ruby probe.rb grape|elah|elah-lint|elah-events`.
require "json"
require "stringio"
require_relative "table"

side = ARGV.fetch(0)
if side == "grape"
  require "grape"
  API_BASE = Grape::API
  API_EXCEPTIONS = Grape::Exceptions
  API_VALIDATOR = Grape::Validations::Validators::Base
  API_SHARED_PARAMETERS = Grape::API::Helpers
else
  $LOAD_PATH.unshift(File.expand_path("../../../lib", __dir__))
  require "elah"
  API_BASE = Elah::API
  API_EXCEPTIONS = Elah::API::Exceptions
  API_VALIDATOR = Elah::API::Validator
  API_SHARED_PARAMETERS = Elah::API::SharedParameters
end
require "rack" if side == "elah-lint"
if side == "elah-events" # not all of ActiveSupport, which has another JSON
  require "active_support"
  require "active_support/notifications"
  EVENTS = Hash.new(0)
  ActiveSupport::Notifications.subscribe(/\.grape\z/) { |name, *| EVENTS[name] += 1 }
end
require_relative "apis"

# Sends a request of the table to an API and reports the answer.
class Probe
  def initialize(api, is_linted)
    @api = is_linted ? Rack::Lint.new(api) : api
  end

  def ask(request)
    status, headers, body = @api.call(env(request))
    text = +"".b
    body.each { |piece| text << piece if piece }
    body.close if body.respond_to?(:close)
    { status: status, headers: ParityTable.relevant(headers), body: readable(text) }
  rescue Exception => e
    raise if e.class.name == "Rack::Lint::LintError"

    { raised: e.class.name.sub(/\A.*::/, ""), message: e.message.lines.first }
  end

  private

  def readable(text)
    text = text.dup.force_encoding(Encoding::UTF_8)
    text.valid_encoding? ? text : text.b.inspect
  end

  def env(request)
    verb, target = request["ask"].split(" ", 2)
    path, query = target.split("?", 2)
    body, type = ParityTable.content(request)
    env = {
      "REQUEST_METHOD" => verb, "SCRIPT_NAME" => "", "PATH_INFO" => path, "QUERY_STRING" => query.to_s,
      "SERVER_NAME" => "example.org", "SERVER_PORT" => "80", "rack.url_scheme" => "http", "rack.version" => [1, 3],
      "rack.input" => StringIO.new((body || "").b), "rack.errors" => StringIO.new, "rack.multithread" => true,
      "rack.multiprocess" => true, "rack.run_once" => false
    }
    env["HTTP_VERSION"] = request["http"] if request["http"]
    env["CONTENT_LENGTH"] = body.bytesize.to_s if body
    env["CONTENT_TYPE"] = type if type
    (request["headers"] || {}).each { |name, value| env["HTTP_#{name.upcase.tr('-', '_')}"] = value }
    env
  end
end

loaded = %i[Grape ActiveSupport Rack Mustermann Dry].select { |name| Object.const_defined?(name) }
answers = ParityTable.requests.map do |api, request|
  Probe.new(Parity.const_get(api), side == "elah-lint").ask(request)
end
puts JSON.generate({ loaded: loaded, answers: answers, events: (EVENTS if defined?(EVENTS)) })
