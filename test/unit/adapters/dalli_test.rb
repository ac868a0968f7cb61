# frozen_string_literal: true

require "test_helper"
require "support/gems"

return unless Gems.present?("dalli")

require "dalli"

# A client that left while its request waited for memcached: dalli took memcached for dead, and for 30 s no request of
# the worker had a cache.
class DalliAdapterTest < Minitest::Test
  GET = 0x00
  VERSION = 0x0b
  HEAD = "CCnCCnNNQ"

  def setup
    Elah::Adapters.install
    @level = Dalli.logger.level
    Dalli.logger.level = Logger::FATAL
    @asked = Thread::Queue.new
    @server = TCPServer.new("127.0.0.1", 0)
    @thread = Thread.new { loop { answer(@server.accept) } }
    @cache = Dalli::Client.new("127.0.0.1:#{@server.addr[1]}")
  end

  def teardown
    Dalli.logger.level = @level
    @thread.kill
    @server.close
  end

  def test_after_a_cancelled_request_the_cache_is_still_used
    Elah.run do
      cancelled = Elah.async { @cache.get("silent") }
      @asked.pop
      assert_instance_of Elah::Cancelled, cancelled.cancel.wait.error
      assert_equal "found", @cache.get("key")
    end
  end

  # What ends a request is no Cancelled: dalli took memcached for dead after the first slow reply.
  def test_after_a_deadline_the_cache_is_still_used
    Elah.run do
      assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.1) { @cache.get("silent") } }
      assert_equal "found", @cache.get("key")
      gone = Elah.async { @cache.get("silent") }
      2.times { @asked.pop }
      assert_instance_of Elah::ClientGone, gone.cancel(Elah::ClientGone.new("gone")).wait.error
      assert_equal "found", @cache.get("key")
    end
  end

  private

  # Memcached's binary protocol. The key "silent" has no response.
  def answer(socket)
    Thread.new do
      while (head = socket.read(24))
        opcode, size = head.unpack("xCx6N")
        key = socket.read(size)
        @asked << key if opcode == GET
        reply(socket, opcode) unless key == "silent"
      end
    rescue SystemCallError
      nil # the client has closed the connection
    end
  end

  def reply(socket, opcode)
    extras = opcode == GET ? [0].pack("N") : ""
    body = opcode == VERSION ? "1.6.0" : "found"
    socket.write([0x81, opcode, 0, extras.size, 0, 0, extras.size + body.size, 0, 0].pack(HEAD), extras, body)
  end
end
