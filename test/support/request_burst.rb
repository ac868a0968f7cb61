# frozen_string_literal: true

require "support/http_client"
require "support/patience"

# Owns requests that are sent all at once, and what a neighbour feels meanwhile.
class RequestBurst
  include Patience

  # @return [Array<HttpClient::Answer>] in the order of the requests
  attr_reader :answers

  # @return [Float] from the first request to the last answer
  attr_reader :seconds

  # @return [Array<Float>] how long each `GET /hello` took while the requests ran, the quickest first
  attr_reader :hellos

  # @param server [ElahServer]
  # @param targets [Array<String>]
  # @param hellos [Integer] how often the neighbour asks
  # @param patience [Numeric] seconds that an answer may take
  # @param before_hello [Proc, nil] called when the requests have been sent
  def initialize(server, targets, hellos: 5, patience: 60, before_hello: nil)
    clients = targets.map { server.connect(seconds: patience) }
    neighbour = server.connect(seconds: patience)
    neighbour.get("/hello")
    @seconds = measure do
      clients.zip(targets) { |client, target| client.write("GET #{target} HTTP/1.1\r\nHost: test.example\r\n\r\n") }
      before_hello&.call
      @hellos = Array.new(hellos) { measure { neighbour.get("/hello").status == 200 or raise "no hello" } }.sort
      @answers = clients.map(&:read_answer)
    end
  ensure
    [*clients, neighbour].each { |client| client&.close }
  end

  # @return [Float] the longest; to start the requests is a part of it
  def hello_seconds = hellos.last

  # @return [Float] the median
  def usual_hello_seconds = hellos[hellos.size / 2]

  # @return [Hash{Integer=>Integer}] how many answers have which status
  def statuses = answers.map(&:status).tally

  # @return [Array<String>] codes of the problems
  def codes = answers.map { |answer| answer.json["code"] }.uniq
end
