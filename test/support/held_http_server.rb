# frozen_string_literal: true

require "socket"

# Owns an HTTP server whose responses to some paths come when a test releases them; those to others come at once. The
# body of a response is the path of its request, of two bytes.
class HeldHTTPServer
  HEAD = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"

  # @return [Thread::Queue] the paths of all requests, in order
  attr_reader :asked

  # @return [Array<TCPSocket>] of all connections, in order
  attr_reader :sockets

  # @param held [Array<String>] paths
  def initialize(*held)
    @held = held.to_h { |path| [path, Thread::Queue.new] }
    @asked = Thread::Queue.new
    @sockets = []
    @server = TCPServer.new("127.0.0.1", 0)
    @thread = Thread.new { loop { serve(@server.accept) } }
  end

  # @return [Integer]
  def port = @server.addr[1]

  # Lets the response to one request of the path come.
  def release(path) = @held.fetch(path) << true

  def stop
    @thread.kill
    @server.close
  end

  private

  def serve(socket)
    @sockets << socket
    Thread.new do
      while (line = socket.gets)
        nil until socket.gets == "\r\n"
        @asked << path = line.split[1]
        @held[path]&.pop
        socket.write(HEAD, path)
      end
    rescue SystemCallError
      nil # the client has closed the connection
    end
  end
end
