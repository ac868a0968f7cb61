# frozen_string_literal: true

require "socket"

module Elah
  module Rack
    # Connections that an app takes over. The server forgets them: it neither times them nor waits for them when it drains.
    module TakeOver
      # @param request [Elah::Request]
      # @return [TCPSocket, UNIXSocket] the connection; what the client has sent beyond the request is read from it first
      # @raise [Elah::ClientGone]
      # @raise [Elah::RequestFinished] when the request is answered already
      def self.call(request)
        raise ClientGone, "The client closed the connection before it could be taken over." unless request.awaits_answer?

        kind = request.remote_ip ? TCPSocket : UNIXSocket
        descriptor, unread = request.hijack
        socket = kind.for_fd(descriptor)
        socket.ungetbyte(unread) unless unread.empty?
        socket
      end
    end
  end

  class Request
    # Takes the connection over from HTTP; this makes a request the callable under `rack.hijack`.
    #
    # @return [TCPSocket, UNIXSocket] also under `rack.hijack_io`
    # @raise [Elah::ClientGone]
    def call = env["rack.hijack_io"] ||= Rack::TakeOver.call(self)
  end
end
