# frozen_string_literal: true

require "test_helper"
require "socket"
require "support/servers"
require "tmpdir"

# What a JetStream destination makes of replies that no proper server sends. The promises that a real server keeps are
# in test/integration/sink_destinations_test.rb.
class JetStreamTest < Minitest::Test
  ACKNOWLEDGED = '{"stream":"S","seq":1}'
  INFO = '{"max_payload":65536,"headers":true}'

  # Owns a server that replies to each message as the test says.
  class Liar
    def initialize(info, tls: nil, host: "127.0.0.1", &reply)
      @info = info
      @tls = tls
      @reply = reply
      @connections = Queue.new
      @server = TCPServer.new(host, 0)
      @thread = Thread.new { loop { Thread.new(@server.accept) { |client| serve(client) } } }
    end

    # @return [Integer] how many there were
    def connections = @connections.size

    # @return [String] the client's first line
    attr_reader :greeting

    def url(user = "", host: "127.0.0.1") = "nats://#{user}#{host}:#{@server.addr[1]}"

    def stop
      @thread.kill.join
      @server.close
    end

    private

    def serve(client)
      @connections << true
      client.write("INFO #{@info}\r\n")
      client = OpenSSL::SSL::SSLSocket.new(client, @tls).tap(&:accept) if @tls
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

  def with_stream(info: INFO, user: "", reply: method(:send_reply), tls: nil, ca_file: nil)
    liar = Liar.new(info, tls: tls, &reply)
    stream = Elah::Sink::JetStream.new(liar.url(user), stream: "S", ca_file: ca_file)
    yield stream, liar
  ensure
    stream&.close
    liar&.stop
  end

  def replying(text, &block) = with_stream(reply: ->(client, inbox) { send_reply(client, inbox, text) }, &block)

  # A NoMethodError on it, on Ruby before 3.4, brought the password into the log.
  def test_no_text_for_people_has_the_password
    password = "hidden".reverse # not as the source has it, which the message shows
    stream = Elah::Sink::JetStream.new("nats://me:#{password}@127.0.0.1:1", stream: "E")
    refute_includes stream.inspect + assert_raises(NoMethodError) { stream.nothing }.message, password
  end

  # The brackets went to the name lookup, so it never connected.
  def test_a_url_may_have_an_ipv6_address
    liar = Liar.new(INFO, host: "::1") { |client, inbox| send_reply(client, inbox, ACKNOWLEDGED) }
    stream = Elah::Sink::JetStream.new(liar.url(host: "[::1]"), stream: "S")
    stream.deliver([event])
    assert_equal 1, liar.connections
  ensure
    stream&.close
    liar&.stop
  end

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

  # It held the boot for ever.
  def test_a_server_that_says_nothing_ends_the_creation_of_a_stream
    Elah.config = Elah::Config.build(sink_attempt_seconds: 0.05)
    with_stream(reply: ->(*) {}) { |stream| assert_raises(Elah::DeadlineExceeded) { stream.create } }
  ensure
    Elah.config = nil
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

  # Each read the replies to the other: both waited in vain, and one closed the connection of the other.
  def test_two_that_deliver_at_once_get_their_own_replies
    replying(ACKNOWLEDGED) do |stream, liar|
      Elah.run do
        delivering = Array.new(2) { Elah.async { 20.times { stream.deliver(Array.new(20) { event }) } } }
        Elah.timeout(60) { delivering.each(&:value) }
      end
      assert_equal 1, liar.connections
    end
  end

  # The workers of a server shared the connection of their supervisor, which had called `create`.
  def test_a_fork_has_a_connection_of_its_own
    replying(ACKNOWLEDGED) do |stream, liar|
      stream.deliver([event])
      child = fork do
        stream.deliver([event])
        exit!(true)
      end
      assert_predicate Process.wait2(child).last, :success?
      assert_equal 2, liar.connections
      stream.deliver([event])
      assert_equal 2, liar.connections, "the parent still has its own"
    end
  end

  # OpenSSL 3 raises SSLError when a peer is gone without close_notify: a lone event became a dead letter.
  def test_a_lost_connection_with_tls_is_tried_again
    Dir.mktmpdir do |folder|
      certificate = Servers::Certificate.issue(folder)
      tls = OpenSSL::SSL::SSLContext.new
      tls.cert = OpenSSL::X509::Certificate.new(File.read(certificate.path))
      tls.key = OpenSSL::PKey.read(File.read(certificate.key_path))
      gone = ->(client, _inbox) { client.to_io.close }
      info = '{"max_payload":65536,"headers":true,"tls_required":true}'
      with_stream(info: info, reply: gone, tls: tls, ca_file: certificate.authority_path) do |stream|
        error = assert_raises(Elah::Unavailable) { stream.deliver([event]) }
        assert_match(/does not respond/, error.message)
      end
    end
  end

  def test_a_stream_that_exists_with_other_settings_is_kept
    replying('{"error":{"err_code":10058,"description":"stream name already in use"}}') do |stream|
      assert_same stream, stream.create
    end
    replying('{"error":{"err_code":10047,"description":"no room"}}') do |stream|
      assert_match(/did not create the stream S: no room/, assert_raises(Elah::Unavailable) { stream.create }.message)
    end
  end

  def test_a_greeting_without_the_size_of_a_message_is_that_of_no_server
    ["[]", "{}", '{"max_payload":"x"}', '{"max_payload":-1}', "null"].each do |info|
      with_stream(info: info) { |stream| assert_raises(Elah::Unavailable, info) { stream.deliver([event]) } }
    end
  end
end
