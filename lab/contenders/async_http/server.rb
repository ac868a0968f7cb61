# frozen_string_literal: true

# The plain answers on async-http's own server, the engine of Falcon, without Rack: `ruby server.rb PORT`.
require "async"
require "async/http/endpoint"
require "async/http/server"
require "json"
require "protocol/http/response"

Console.logger.level = :fatal if defined?(Console)

TEXT = [["content-type", "text/plain"]].freeze
JSON_TYPE = [["content-type", "application/json"]].freeze

endpoint = Async::HTTP::Endpoint.parse("http://127.0.0.1:#{ARGV.fetch(0)}", reuse_port: false)
server = Async::HTTP::Server.for(endpoint) do |request|
  case request.path
  when "/hello" then Protocol::HTTP::Response[200, TEXT, ["hello world"]]
  when "/json" then Protocol::HTTP::Response[200, JSON_TYPE, [JSON.generate({ id: 42, title: "hello world", done: false, tags: %w[ruby rust] })]]
  when "/sleep"
    Async::Task.current.sleep(0.05)
    Protocol::HTTP::Response[200, TEXT, ["slept"]]
  else Protocol::HTTP::Response[404, TEXT, ["not found"]]
  end
end

Async { server.run }
