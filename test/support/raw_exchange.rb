# frozen_string_literal: true

require_relative "elah_server"

# Owns the way in which the tests of bad input speak to a server: raw bytes on a connection of their own, and everything
# that comes back until the server closes.
module RawExchange
  # What came back: the answers in order, and whether the server closed the connection after them.
  Outcome = Struct.new(:answers, :closed, keyword_init: true) do
    def statuses = answers.map(&:status)
    def last = answers.last
    def code = last&.json&.fetch("code")
    def closed? = closed
  end

  # @param server [ElahServer]
  # @param bytes [String, Array<String>] one write, or several
  # @param seconds [Numeric] how long the server may be silent before it counts as waiting for more
  # @return [Outcome]
  def exchange(server, bytes, seconds: 15)
    server.connect(seconds: seconds) do |client|
      Array(bytes).each { |part| client.write(part) }
      collect(client)
    rescue Errno::EPIPE, Errno::ECONNRESET
      collect(client)
    end
  end

  # Reads answers until the server closes or is silent.
  #
  # @param client [HttpClient]
  # @return [Outcome]
  def collect(client)
    answers = []
    loop { answers << client.read_answer }
  rescue HttpClient::Closed
    Outcome.new(answers: answers, closed: true)
  rescue HttpClient::Silence
    Outcome.new(answers: answers, closed: false)
  end

  # Checks that the server answered with this problem, and nothing after it, and closed.
  def assert_refused(status, code, outcome, message = nil)
    assert_equal [status, code], [outcome.last&.status, outcome.last && outcome.code], message
    assert_equal "application/problem+json", outcome.last["content-type"], message
    assert_equal "close", outcome.last["connection"], message
    assert outcome.last["date"], message
    assert_predicate outcome, :closed?, message
  end

  # @return [String] a GET of /
  def get(*lines, target: "/", version: "HTTP/1.1", host: "Host: test.example")
    head("GET #{target} #{version}", host, *lines)
  end

  # @return [String] a POST of / with these header lines and this body
  def post(*lines, body: "") = head("POST / HTTP/1.1", "Host: test.example", *lines) + body

  # @return [String] a POST of / whose chunked body is these bytes
  def post_chunked(body) = post("Transfer-Encoding: chunked", body: body)

  # @param lines [Array<String, nil>] without their ends; nil ones are left out
  def head(*lines) = "#{lines.compact.join("\r\n")}\r\n\r\n".b
end
