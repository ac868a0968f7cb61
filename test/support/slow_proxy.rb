# frozen_string_literal: true

require "socket"

# Owns a TCP proxy that passes every answer on later: what is near looks far away.
class SlowProxy
  CHUNK_BYTES = 65_536

  # @return [Integer] of 127.0.0.1
  attr_reader :port

  # @param port [Integer] where the server listens
  # @param seconds [Numeric] how long each piece of an answer is held back
  # @yieldparam proxy [SlowProxy]
  def self.start(port, seconds:)
    proxy = new(port, seconds)
    yield proxy
  ensure
    proxy&.stop
  end

  def initialize(upstream_port, seconds)
    @upstream_port = upstream_port
    @seconds = seconds
    @server = TCPServer.new("127.0.0.1", 0)
    @port = @server.local_address.ip_port
    @threads = ThreadGroup.new
    run { loop { accept } }
  end

  def stop
    @server.close
    @threads.list.each(&:kill).each(&:join)
  end

  private

  def accept
    client = @server.accept
    upstream = TCPSocket.new("127.0.0.1", @upstream_port)
    run { pass(client, upstream) }
    run { pass(upstream, client) { IO.select(nil, nil, nil, @seconds) } }
  rescue Errno::ECONNREFUSED
    client.close
  end

  def pass(source, target)
    loop do
      piece = source.readpartial(CHUNK_BYTES)
      yield if block_given?
      target.write(piece)
    end
  rescue SystemCallError, IOError
    target.close unless target.closed?
  end

  def run(&block)
    thread = Thread.new(&block)
    thread.report_on_exception = false
    @threads.add(thread)
  end
end
