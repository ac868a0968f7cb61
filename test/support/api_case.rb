# frozen_string_literal: true

require_relative "../test_helper"
require "stringio"

# Owns how unit tests of the framework call an API: through its Rack entry, without Rack.
class APICase < Minitest::Test
  Answer = Struct.new(:status, :headers, :body) do
    def json = JSON.parse(body)
  end

  # @return [Class] an API with the block as its class body
  def api(&block) = Class.new(Elah::API, &block)

  # @param headers [Hash] by their HTTP names
  # @return [Answer] with lower-case header names and the body as one String
  def ask(api, verb, target, body: nil, headers: {})
    path, _, query = target.partition("?")
    env = { "REQUEST_METHOD" => verb, "PATH_INFO" => path, "SCRIPT_NAME" => "", "QUERY_STRING" => query,
            "SERVER_NAME" => "example.org", "SERVER_PORT" => "80", "SERVER_PROTOCOL" => "HTTP/1.1",
            "rack.url_scheme" => "http", "rack.input" => StringIO.new((body || "").b) }
    env["CONTENT_LENGTH"] = body.bytesize.to_s if body
    headers.each { |name, value| env[env_key(name)] = value }
    answer(api.call(env))
  end

  %w[get post put patch delete head options].each do |verb|
    define_method(verb) { |api, target, **rest| ask(api, verb.upcase, target, **rest) }
  end

  # Sends a JSON document.
  def post_json(api, target, document, verb: "POST")
    body = document.is_a?(String) ? document : JSON.generate(document)
    ask(api, verb, target, body: body, headers: { "Content-Type" => "application/json" })
  end

  private

  def env_key(name)
    key = name.upcase.tr("-", "_")
    %w[CONTENT_TYPE CONTENT_LENGTH].include?(key) ? key : "HTTP_#{key}"
  end

  def answer(response)
    status, headers, body = response
    text = +""
    body.each { |piece| text << piece }
    Answer.new(status, headers.transform_keys(&:downcase), text)
  end
end
