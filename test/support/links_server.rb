# frozen_string_literal: true

require "fileutils"
require "json"
require "tmpdir"
require_relative "elah_server"

# Owns a real shortener of a test: apps/links on a store that outlives the process, so that a test may kill it and start
# it again.
class LinksServer
  # An import is silent until it has read everything.
  SILENCE_SECONDS = 120
  APP = File.expand_path("../../apps/links/app.rb", __dir__)

  # @return [ElahServer] the process that runs now
  attr_reader :process

  # @param env [Hash{String=>String}] of the process
  # @param options [Hash] of Elah, by name
  # @yieldparam server [LinksServer] stopped after the block
  def self.start(env: {}, **options)
    server = new(env, options)
    result = yield server
    server.process.stop
    result
  ensure
    server&.remove
  end

  def initialize(env, options)
    @folder = Dir.mktmpdir("links-data")
    @env = env
    @options = options
    run
  end

  # Kills the process as `kill -9` does, and starts another on the same store.
  def kill_and_restart
    @process.signal(:KILL)
    @process.wait_until_ended
    @process.kill
    run
  end

  def remove
    @process&.kill
    FileUtils.remove_entry(@folder)
  end

  def url = @process.url

  # Sends one request; a Hash as body is sent as JSON.
  #
  # @return [HttpClient::Answer]
  def request(verb, path, body: nil, headers: {})
    if body.is_a?(Hash)
      body = JSON.generate(body)
      headers = { "Content-Type" => "application/json" }.merge(headers)
    end
    @process.connect(seconds: SILENCE_SECONDS) { |client| client.request(verb, path, body: body, headers: headers) }
  end

  def get(path, **rest) = request("GET", path, **rest)
  def post(path, body, **rest) = request("POST", path, body: body, **rest)

  # @return [Hash] the link that was created
  # @raise [RuntimeError] when it was refused
  def create(target: "https://example.com/", **fields)
    answer = post("/links", { target: target, **fields })
    answer.status == 201 ? answer.json : raise("#{answer.status} #{answer.body}")
  end

  # @param lines [Array<String, Hash>]
  # @return [Array<Hash>] the results and the summary
  def import(lines, **rest)
    body = lines.map { |line| "#{line.is_a?(Hash) ? JSON.generate(line) : line}\n" }.join
    post("/links/import", body, headers: { "Content-Type" => "application/x-ndjson" }, **rest).body.each_line.map { |line| JSON.parse(line) }
  end

  # @return [Integer]
  def visits(code) = get("/links/#{code}").json.fetch("visits")

  private

  def run
    @process = ElahServer.start(APP, env: @env, data: @folder, **@options)
  end
end
