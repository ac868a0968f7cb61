# frozen_string_literal: true

require "fileutils"
require "json"
require "tmpdir"
require_relative "elah_server"

# Owns a real reference API of a test on a store that outlives the process, so that a test may kill it and start it
# again. A subclass names its app.
class AppServer
  # An import is silent until it has read everything.
  SILENCE_SECONDS = 120

  # @return [String] the folder of the data
  def data = @folder

  # @return [ElahServer] the process that runs now
  attr_reader :process

  # @param settings [Hash] of the app, by name
  # @param options [Hash] of Elah, by name
  # @yieldparam server [AppServer] stopped after the block
  def self.start(settings: {}, **options)
    server = new(settings, options)
    result = yield server
    server.process.stop
    result
  ensure
    server&.remove
  end

  def initialize(settings, options)
    @folder = Dir.mktmpdir("elah-app-data")
    @arguments = settings.flat_map { |name, value| ["--set", "#{name}=#{value}"] }
    @options = options
    run
  end

  # Kills the process as `kill -9` does, and starts another on the same store.
  def kill_and_restart
    kill
    run
  end

  def kill
    @process.signal(:KILL)
    @process.wait_until_ended
    @process.kill
  end

  def run = @process = ElahServer.start(self.class::APP, arguments: @arguments, data: @folder, **@options)

  def remove
    @process&.kill
    FileUtils.remove_entry(@folder, true)
  end

  # Sends one request; a body that is no String is sent as JSON.
  #
  # @return [HttpClient::Answer]
  def request(verb, path, body: nil, headers: {})
    unless body.nil? || body.is_a?(String)
      body = JSON.generate(body)
      headers = { "Content-Type" => "application/json" }.merge(headers)
    end
    @process.connect(seconds: SILENCE_SECONDS) { |client| client.request(verb, path, body: body, headers: headers) }
  end

  def get(path, **rest) = request("GET", path, **rest)
  def post(path, body = {}, **rest) = request("POST", path, body: body, **rest)
  def put(path, body = {}, **rest) = request("PUT", path, body: body, **rest)
  def delete(path, **rest) = request("DELETE", path, **rest)
end
