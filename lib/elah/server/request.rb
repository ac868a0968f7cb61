# frozen_string_literal: true

require_relative "../native"

module Elah
  # The Ruby half of a request; the other half is native (ext/elah/src/server/request.rs).
  class Request
    # Yields the body in the pieces in which it comes. Suspends the fiber until the client has sent the next one.
    #
    # @yieldparam piece [String] binary
    # @raise [BadRequest] when the client breaks off or is silent for too long, or the body is over its bound
    def each_body_chunk
      while (piece = read_chunk)
        yield piece
      end
    end

    # @return [String] what the client asked for, with its port if it named one
    def host = header("host")

    # @return [String] how the client spoke to this server; a proxy may have been spoken to otherwise
    def scheme = "http"

    # @return [String, nil]
    def content_type = header("content-type")

    # @return [Integer, nil] the bytes that the body is announced to have; nil when they are not, as in a chunked one
    def content_length = header("content-length")&.to_i
  end
end
