# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/elah_server"

# The Rack examples do what they say.
class RackExamplesTest < Minitest::Test
  EXAMPLES = File.expand_path("../../examples", __dir__)
  UPGRADE = { "Connection" => "Upgrade", "Upgrade" => "websocket", "Sec-WebSocket-Version" => "13",
              "Sec-WebSocket-Key" => "dGhlIHNhbXBsZSBub25jZQ==" }.freeze

  def test_events
    ElahServer.start("#{EXAMPLES}/rack_events.ru") do |server|
      answer = server.get("/?count=3")
      assert_equal "text/event-stream", answer["content-type"]
      assert_equal (1..3).map { |number| "id: #{number}\ndata: #{number} of 3\n\n" }.join, answer.body

      server.connect { |client| client.write("GET /?count=100 HTTP/1.1\r\nHost: a\r\n\r\n").read_head }
      server.wait_for(/the client has gone/)
    end
  end

  # At a stop each open connection was an error in the log, and one that was reported.
  def test_a_stop_ends_open_websockets_without_errors
    ElahServer.start("#{EXAMPLES}/rack_websocket.ru") do |server|
      server.connect do |one|
        server.connect do |other|
          assert_equal([101, 101], [one, other].map { |client| client.get("/", headers: UPGRADE).status })
          server.stop
          assert_equal([true, true], [one, other].map(&:closed_by_server?))
        end
      end
      assert_equal 2, server.log.scan("was cancelled: the worker exits").size, server.log
      refute_match(/ERROR|WARN/, server.log)
    end
  end

  def test_websocket
    ElahServer.start("#{EXAMPLES}/rack_websocket.ru") do |server|
      assert_equal [426, "websocket"], server.get("/").then { |answer| [answer.status, answer["upgrade"]] }
      server.connect do |client|
        answer = client.get("/", headers: UPGRADE)
        # The key and its answer are those of RFC 6455, section 1.3.
        assert_equal [101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="], [answer.status, answer["sec-websocket-accept"]]
        %w[hello again].each do |text|
          assert_equal "\x81#{text.size.chr}#{text}".b, client.write(frame(0x81, text)).read_bytes(2 + text.size)
        end
        assert_equal "\x88\x00".b, client.write(frame(0x88, "")).read_bytes(2)
        assert_predicate client, :closed_by_server?
      end
    end
  end

  private

  # A masked frame.
  def frame(head, text)
    mask = [1, 2, 3, 4]
    masked = text.bytes.each_with_index.map { |byte, index| byte ^ mask[index % 4] }
    [head, 0x80 | text.bytesize, *mask, *masked].pack("C*")
  end
end
