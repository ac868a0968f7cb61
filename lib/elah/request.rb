# frozen_string_literal: true

require_relative "native"

module Elah
  # The Ruby half of a request; the other half is native (ext/elah/src/request.rs).
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
  end
end
