# frozen_string_literal: true

require "socket"

module Elah
  module Rack
    # Connections that an app takes over. The server no longer tracks them: it neither times them nor waits for them when it drains.
    module TakeOver
      # @param request [Elah::Request]
      # @return [TCPSocket, UNIXSocket] the connection; bytes that the client sent after the request are read from it first
      # @raise [Elah::ClientGone]
      # @raise [Elah::RequestFinished] when the request has its response already
      def self.call(request)
        raise ClientGone, "The client closed the connection before it could be taken over." unless request.awaits_response?

        kind = request.remote_ip ? TCPSocket : UNIXSocket
        descriptor, unread = request.hijack
        socket = kind.for_fd(descriptor)
        socket.ungetbyte(unread) unless unread.empty?
        socket
      end
    end
  end

  class Request
    # Takes the connection over from HTTP. A request's `rack.hijack` is this callable.
    #
    # @return [TCPSocket, UNIXSocket] also under `rack.hijack_io`
    # @raise [Elah::ClientGone]
    def call = env["rack.hijack_io"] ||= Rack::TakeOver.call(self)
  end
end
