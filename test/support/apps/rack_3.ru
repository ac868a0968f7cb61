# frozen_string_literal: true

# Asks of the server what the specification of Rack 3 asks of one, and fails where it does not comply. Headers are in
# lower case, values of several lines are Arrays, bodies may be called.
class Rack3Lint
  class Broken < StandardError; end

  REQUIRED = %w[REQUEST_METHOD QUERY_STRING SERVER_NAME SERVER_PROTOCOL rack.url_scheme rack.errors].freeze
  STREAM_METHODS = %i[read write << flush close close_read close_write closed?].freeze

  def initialize(app)
    @app = app
  end

  def call(env)
    check_variables(env)
    check_paths(env)
    check_objects(env)
    status, headers, body = @app.call(env)
    [status, headers, body.respond_to?(:each) ? body : ->(stream) { check_stream(stream) and body.call(stream) }]
  end

  private

  def check_variables(env)
    check(env.instance_of?(Hash) && !env.frozen?, "env is an unfrozen Hash")
    REQUIRED.each { |key| check(env[key], "#{key} is there") }
    env.each do |key, value|
      next if key.include?(".")

      check(value.is_a?(String), "#{key} is a String")
      check(value.ascii_only? || value.encoding == Encoding::BINARY, "#{key} is binary where it is not ASCII")
    end
    %w[HTTP_CONTENT_TYPE HTTP_CONTENT_LENGTH].each { |key| check(!env.key?(key), "#{key} has no prefix") }
    check(env["SERVER_PROTOCOL"].match?(%r{\AHTTP/\d(\.\d)?\z}), "SERVER_PROTOCOL is one")
    check(env["HTTP_VERSION"] == env["SERVER_PROTOCOL"], "HTTP_VERSION is SERVER_PROTOCOL")
    check(Integer(env["SERVER_PORT"]), "SERVER_PORT is a number")
    check(env["CONTENT_LENGTH"].nil? || env["CONTENT_LENGTH"].match?(/\A\d+\z/), "CONTENT_LENGTH is a number")
    check(env["rack.url_scheme"] == "http", "rack.url_scheme is the one that is spoken")
  end

  def check_paths(env)
    check(env["SCRIPT_NAME"].empty? || env["SCRIPT_NAME"].match?(%r{\A/.}),
          "SCRIPT_NAME is empty or begins with a slash")
    is_asterisk = env["REQUEST_METHOD"] == "OPTIONS" && env["PATH_INFO"] == "*"
    check(is_asterisk || env["PATH_INFO"].start_with?("/"), "PATH_INFO begins with a slash, or is * for OPTIONS")
  end

  def check_objects(env)
    %i[read gets each].each { |name| check(env["rack.input"].respond_to?(name), "rack.input has #{name}") }
    check(env["rack.input"].external_encoding == Encoding::BINARY, "rack.input is binary")
    %i[puts write flush].each { |name| check(env["rack.errors"].respond_to?(name), "rack.errors has #{name}") }
    check(env["rack.hijack?"] && env["rack.hijack"].respond_to?(:call), "rack.hijack can be called")
    check(env["rack.response_finished"].instance_of?(Array), "rack.response_finished is an Array")
    check(!env["rack.response_finished"].frozen?, "rack.response_finished takes callables")
  end

  def check_stream(stream)
    STREAM_METHODS.each { |name| check(stream.respond_to?(name), "the stream has #{name}") }
  end

  def check(fine, what) = fine || raise(Broken, "It is not so that #{what}.")
end

use Rack3Lint
run lambda { |env|
  case env["PATH_INFO"]
  when "/cookies" then [200, { "set-cookie" => ["a=1; path=/", "b=2"] }, []]
  when "/status" then [Integer(env["QUERY_STRING"]), {}, []]
  when "/echo" then [200, { "content-type" => "text/plain" }, env["rack.input"]]
  when "/stream" then [200, { "content-type" => "text/plain" }, ->(stream) { stream.write("hello"); stream.close }]
  when "/enumerator" then [200, { "content-type" => "text/plain" }, %w[hel lo].each]
  when "/hijack" then [200, { "rack.hijack" => ->(io) { io.write("hello"); io.close } }, nil]
  else [200, { "content-type" => "text/plain" }, ["#{env['REQUEST_METHOD']} #{env['PATH_INFO']}"]]
  end
}
