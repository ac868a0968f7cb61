# frozen_string_literal: true

require "test_helper"
require "socket"

# What a JetStream destination makes of replies that no proper server sends. The promises that a real server keeps are
# in test/integration/sink_destinations_test.rb.
class JetStreamTest < Minitest::Test
  ACKNOWLEDGED = '{"stream":"S","seq":1}'
  INFO = '{"max_payload":65536,"headers":true}'

  # Owns a server that replies to each message as the test says.
  class Liar
    def initialize(info, &reply)
      @info = info
      @reply = reply
      @server = TCPServer.new("127.0.0.1", 0)
      @thread = Thread.new { loop { serve(@server.accept) } }
    end

    # @return [String] the client's first line
    attr_reader :greeting

    def url(user = "") = "nats://#{user}127.0.0.1:#{@server.addr[1]}"

    def stop
      @thread.kill.join
      @server.close
    end

    private

    def serve(client)
      client.write("INFO #{@info}\r\n")
      while (line = client.gets("\r\n"))
        @greeting ||= line
        client.write("PONG\r\n") if line.start_with?("PING")
        next unless (inbox, bytes = line[/\AHPUB \S+ (.+)/, 1]&.split(" ")&.values_at(0, 2))

        client.read(bytes.to_i + 2)
        @reply.call(client, inbox)
      end
    rescue SystemCallError, IOError
      nil # the client has gone
    ensure
      client.close
    end
  end

  def event = Elah::Sink::Event.new(Random.bytes(16), +"", 0, true, +"{}")
  def send_reply(client, inbox, text) = client.write("MSG #{inbox} 1 #{text.bytesize}\r\n#{text}\r\n")

  def with_stream(info: INFO, user: "", reply: method(:send_reply))
    liar = Liar.new(info, &reply)
    stream = Elah::Sink::JetStream.new(liar.url(user), stream: "S")
    yield stream, liar
  ensure
    stream&.close
    liar&.stop
  end

  def replying(text, &block) = with_stream(reply: ->(client, inbox) { send_reply(client, inbox, text) }, &block)

  # The server of a sink that had nothing to send for minutes had closed the connection, as nobody answered its PING:
  # the log told of a sink that cannot deliver, after each quiet time.
  def test_a_connection_that_the_server_has_left_is_opened_again
    closed = Queue.new
    leaving = lambda do |client, inbox|
      send_reply(client, inbox, ACKNOWLEDGED)
      client.close
      closed << true
    end
    with_stream(reply: leaving) do |stream|
      2.times do
        assert_nil stream.deliver([event])
        closed.pop
      end
    end
  end

  def test_only_the_stream_acknowledges
    replying(ACKNOWLEDGED) { |stream| assert_nil stream.deliver([event, event]) }
    ["{}", '"yes"', "thanks", "", "[1]", "null", "\xFF", '{"stream":"OTHER","seq":1}', '{"stream":"S"}',
     '{"error":"x"}', '{"error":true,"stream":"S","seq":1}'].each do |text|
      replying(text) { |stream| assert_raises(Elah::Unavailable, text) { stream.deliver([event]) } }
    end
  end

  # It was a space, as in a form, so that the server let nobody in.
  def test_a_plus_in_the_user_and_in_the_password_is_a_plus
    reply = ->(client, inbox) { send_reply(client, inbox, ACKNOWLEDGED) }
    with_stream(user: "a+b:c+d%2B%20e@", reply: reply) do |stream, liar|
      stream.deliver([event])
      assert_equal ["a+b", "c+d+ e"], Elah::JSON.parse(liar.greeting[/{.*}/]).values_at("user", "pass")
    end
  end

  # Nothing else of the loop ran, and no deadline.
  def test_a_server_that_sends_without_pause_and_never_replies_is_given_up
    ["PING\r\n", "MSG %s 1 2\r\n{}\r\n", "INFO {}\r\n"].each do |text|
      endless = ->(client, inbox) { loop { client.write(text.sub("%s") { inbox } * 1000) } }
      with_stream(reply: endless) { |stream| assert_raises(Elah::Unavailable, text) { stream.deliver([event, event]) } }
    end
  end

  def test_a_message_that_is_too_large_for_the_stream_is_rejected
    replying('{"error":{"err_code":10054,"description":"too large"},"stream":"S","seq":0}') do |stream|
      sent = event
      assert_equal({ sent.id => "too large" }, assert_raises(Elah::Sink::Rejected) { stream.deliver([sent]) }.reasons)
    end
  end

  # Such a reply would otherwise stand for that of the next message, and that one's for the next.
  def test_a_second_reply_to_a_message_is_dropped
    twice = ->(client, inbox) { 2.times { send_reply(client, inbox, ACKNOWLEDGED) } }
    with_stream(reply: twice) { |stream| 3.times { assert_nil stream.deliver([event, event]) } }
  end

  def test_a_reply_that_cannot_be_read_is_tried_again
    ["MSG %s 1 #{10**30}\r\n", "MSG %s 1 #{10**12}\r\n", "HMSG %s 1 4 4\r\n\xFF\xFF\xFF\xFF\r\n", "\xFF\xFE\r\n",
     "-ERR '\xFF'\r\n"].each do |answer|
      with_stream(reply: ->(client, inbox) { client.write(answer.sub("%s") { inbox }) }) do |stream|
        assert_raises(Elah::Unavailable, answer) { stream.deliver([event]) }
      end
    end
  end

  def test_a_greeting_without_the_size_of_a_message_is_that_of_no_server
    ["[]", "{}", '{"max_payload":"x"}', '{"max_payload":-1}', "null"].each do |info|
      with_stream(info: info) { |stream| assert_raises(Elah::Unavailable, info) { stream.deliver([event]) } }
    end
  end
end
