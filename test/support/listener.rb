# frozen_string_literal: true

require_relative "http_client"
require_relative "patience"

# A client of a test that reads Server-Sent Events.
class Listener
  include Patience

  attr_reader :client, :head, :text

  def initialize(server, path = "/news")
    @client = HttpClient.new(server.url, seconds: 60)
    @client.write("GET #{path} HTTP/1.1\r\nHost: test\r\n\r\n")
    @head = @client.read_head
    @text = +""
  end

  # Reads until this text has come. An idle stream has comments, so that no read waits for ever.
  def read_until(text)
    give_up_at = monotonic + patience_seconds
    until @text.include?(text)
      raise "#{text.inspect} did not arrive, only #{data.last(3)}." if monotonic > give_up_at

      @text << @client.read_chunk
    end
    @text
  end

  # @yield right after a comment; it causes an event
  # @return [Float] seconds between this event and the next comment
  def silence_after
    read_next(": keep-alive\n\n")
    yield
    read_next("data: ")
    began = monotonic
    read_next(": keep-alive\n\n")
    monotonic - began
  end

  # @return [Array<String>] the data of the events that were read
  def data = @text.scan(/^data: (.*)$/).flatten

  private

  def read_next(text)
    @text.clear
    read_until(text)
  end
end
