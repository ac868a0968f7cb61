# frozen_string_literal: true

require "json"
require "net/http"
require_relative "expectation"
require_relative "variables"

module Conformance
  # Sends the requests of one case, one after the other on one connection to each server, and compares the answers.
  class Player
    # @param url [String] of the server, without a slash at its end
    # @param others [Array<String>] further servers of the same service: requests go to all in turn, with the name of
    #   the first one, as from a balancer
    # @param headers [Hash{String=>String}] to send with every request
    def initialize(url, others: [], headers: {})
      @urls = [url, *others].map { |one| URI(one) }
      @headers = headers
      @variables = Variables.new(base: url)
    end

    # @param steps [Array<Hash>]
    # @return [String, nil] the first thing that was not as it should be
    def play(steps)
      options = { use_ssl: @urls[0].scheme == "https", read_timeout: 60 }
      connections = @urls.map { |url| Net::HTTP.start(url.host, url.port, **options) }
      steps.zip(connections.cycle).each_with_index do |(step, http), index|
        failure = play_step(http, step)
        return "step #{index + 1}, #{step.fetch('send').values_at('method', 'path').join(' ')}: #{failure}" if failure
      end
      nil
    ensure
      connections&.each(&:finish)
    end

    private

    def play_step(http, step)
      sent = @variables.fill(step.fetch("send"))
      response = http.request(request(sent))
      failure = Expectation.new(@variables.fill(step.fetch("expect"))).failure(response)
      return "#{failure}; the answer was #{response.code} #{response.body.to_s[0, 500]}" if failure

      (step["keep"] || {}).each { |name, from| @variables.keep(name, from, response) }
      nil
    end

    def request(sent)
      body = body(sent)
      request = Net::HTTPGenericRequest.new(sent.fetch("method"), !body.nil?, sent["method"] != "HEAD",
                                            sent.fetch("path"))
      request["accept"] = "*/*"
      request["host"] = "#{@urls[0].host}:#{@urls[0].port}" if @urls.size > 1
      @headers.merge(type(sent), sent["headers"] || {}).each do |name, value|
        value.nil? ? request.delete(name) : request[name] = value
      end
      request.body = body
      request
    end

    def body(sent)
      return JSON.generate(sent["json"]) if sent.key?("json")
      if sent.key?("ndjson")
        return sent["ndjson"].map { |line| "#{line.is_a?(String) ? line : JSON.generate(line)}\n" }.join
      end

      sent["body"]
    end

    def type(sent)
      return { "content-type" => "application/json" } if sent.key?("json")
      return { "content-type" => "application/x-ndjson" } if sent.key?("ndjson")

      # As curl does, and Net::HTTP until Ruby 4.0.
      sent.key?("body") ? { "content-type" => "application/x-www-form-urlencoded" } : {}
    end
  end
end
