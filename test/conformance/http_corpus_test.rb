# frozen_string_literal: true

require "yaml"
require_relative "../test_helper"
require_relative "../support/raw_exchange"
require_relative "http_corpus"

# The request corpus of gunicorn against a running server. Every difference is listed with its reason in
# http_corpus.yml.
class HttpCorpusTest < Minitest::Test
  include RawExchange

  APP = File.expand_path("../support/apps/echo.rb", __dir__)
  DIFFERENCES = YAML.safe_load_file(File.join(__dir__, "http_corpus.yml"))

  def test_what_must_be_refused_is_refused
    differences = DIFFERENCES.fetch("accepted")
    accepted = each_outcome("invalid").select { |_name, outcome| served?(outcome) }.keys
    assert_equal differences.keys.sort, accepted.sort
    size = corpus("invalid").size
    report "refused #{size - accepted.size} of #{size} that must be; the others are listed"
  end

  def test_what_must_be_accepted_is_accepted
    differences = DIFFERENCES.fetch("refused").transform_values(&:first)
    refused = each_outcome("valid") { |bytes| with_host(bytes) }.reject { |_name, outcome| served?(outcome) }
    assert_equal differences.sort, refused.transform_values(&:code).sort
    size = corpus("valid").size
    report "accepted #{size - refused.size} of #{size} that must be; the others are listed"
  end

  private

  def corpus(kind)
    HttpCorpus.cases(kind)
  rescue HttpCorpus::Unavailable => e
    puts "\nHttpCorpusTest is skipped: #{e.message}"
    skip e.message
  end

  # @return [Hash{String=>RawExchange::Outcome}]
  def each_outcome(kind)
    cases = corpus(kind)
    ElahServer.start(APP, header_seconds: 1, body_seconds: 1, keepalive_seconds: 1) do |server|
      cases.transform_values { |bytes| send_all(server, block_given? ? yield(bytes) : bytes) }
    end
  end

  def send_all(server, bytes)
    server.connect do |client|
      client.write(bytes)
      client.socket.close_write
      collect(client)
    rescue Errno::EPIPE, Errno::ECONNRESET, Errno::ENOTCONN
      collect(client)
    end
  end

  # Whether the application answered, and everything that was sent.
  def served?(outcome) = outcome.statuses.any? && outcome.statuses.all?(200)

  def with_host(bytes)
    return bytes if bytes.match?(/^host:/in)

    bytes.gsub(%r{^([^\s:]+ \S+ HTTP/1\.1\r\n)}n) { "#{Regexp.last_match(1)}Host: localhost\r\n" }
  end

  def report(text) = puts("\ngunicorn #{HttpCorpus::VERSION}: #{text}")
end
