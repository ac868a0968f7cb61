# frozen_string_literal: true

require "socket"

# A TCP proxy of a test in front of a real server. It may cut connections after so many bytes of the server's answers,
# or as soon as they come, so that a client meets an answer that ends in its middle or never comes.
class CuttingProxy
  # @return [Integer, nil] bytes of answers that a connection passes on before it is cut; nil never cuts
  attr_accessor :bytes_max

  # @return [String, nil] a part of a request: the first one with it reaches the server, whose answer is cut off
  attr_writer :loses_answer_to

  # @return [Integer] of the server to which the next connections go
  attr_writer :server_port

  # @return [Integer]
  attr_reader :port

  # @param port [Integer] of the server, on 127.0.0.1
  # @yieldparam proxy [CuttingProxy] closed after the block
  def self.start(port)
    proxy = new(port)
    yield proxy
  ensure
    proxy&.close
  end

  def initialize(server_port)
    @listener = TCPServer.new("127.0.0.1", 0)
    @port = @listener.addr[1]
    @server_port = server_port
    @sockets = Queue.new
    @cut = {}
    @acceptor = Thread.new { loop { serve(@listener.accept, TCPSocket.new("127.0.0.1", @server_port)) } }
    @acceptor.report_on_exception = false
  end

  # @param port [Integer] from which the proxy has connected to the server
  # @return [Boolean] whether this connection was cut
  def cut?(port) = @cut.key?(port)

  def close
    @acceptor.kill
    [@listener, *Array.new(@sockets.size) { @sockets.pop }].each(&:close)
  end

  private

  def serve(client, server)
    [client, server].each { |socket| @sockets << socket }
    passed = 0
    port = server.local_address.ip_port
    is_lost = false
    pump(client, server) do |bytes|
      (is_lost = true) && @loses_answer_to = nil if @loses_answer_to && bytes.include?(@loses_answer_to)
      server.write(bytes)
    end
    pump(server, client) do |bytes|
      next if is_lost

      left = bytes_max ? bytes_max - passed : bytes.bytesize
      passed += bytes.bytesize
      client.write(bytes.byteslice(0, [left, 0].max))
      @cut[port] = true if left < bytes.bytesize
      left >= bytes.bytesize
    end
  end

  # Passes on what comes until the block returns false, then ends both connections.
  def pump(from, to)
    Thread.new do
      loop do
        bytes = from.readpartial(65_536)
        yield(bytes) or break
      end
    rescue IOError, SystemCallError
      nil # one side is gone
    ensure
      [from, to].each { |socket| shut(socket) }
    end
  end

  def shut(socket)
    socket.shutdown
  rescue IOError, SystemCallError
    nil
  end
end
