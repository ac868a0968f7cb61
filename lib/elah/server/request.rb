# frozen_string_literal: true

require_relative "../native"

module Elah
  # The Ruby half of a request; the other half is native (ext/elah/src/server/request.rs).
  class Request
    CHUNK_BYTES = 65_536
    private_constant :CHUNK_BYTES

    # @!method id
    #   @return [String] ID of the request, which the log has too

    # @!method seconds_left
    #   @return [Float, nil] seconds until the client gets a 504; nil once its response has begun

    # @!method request_method
    #   @return [String]

    # @!method path
    #   @return [String] percent-encoded as the client sent it

    # @!method query_string
    #   @return [String] percent-encoded as the client sent it

    # @!method query?
    #   @return [Boolean]

    # @!method protocol
    #   @return [String] such as "HTTP/1.1"

    # @!method header(name)
    #   @param name [String] in lower case
    #   @return [String, nil]

    # @!method headers
    #   @return [Hash{String=>String}] by names in lower case

    # @!method remote_ip
    #   @return [String, nil] nil on a Unix socket

    # @!method local_port
    #   @return [Integer] 0 on a Unix socket

    # @!method route
    #   @return [Integer, nil] ID of the route; nil when none matches

    # @!method route_params
    #   @return [Hash{String=>String}]

    # @!method route_param(name)
    #   @param name [String]
    #   @return [String, nil] one of the {#route_params}

    # @!method body
    #   @return [String] the whole body, binary

    # @!method respond(status, headers, body)
    #   Sends the response. With a long body the fiber waits until the client has read nearly all of it.
    #   @param status [Integer] 200 to 599
    #   @param headers [Hash{String=>String, Array<String>}, Elah::HeaderSet] lower-case names
    #   @param body [String]
    #   @return [Boolean] false when there is a response already, for example after a deadline, or the client has disconnected
    #   @raise [InvalidHeader, InvalidStatus]

    # @!method redirect(status, location, headers)
    #   Sends a response with an empty body and a Location beside the headers.
    #   @param status [Integer]
    #   @param location [String]
    #   @param headers [Hash{String=>String, Array<String>}, Elah::HeaderSet] lower-case names
    #   @return [Boolean] as of {#respond}
    #   @raise [InvalidHeader, InvalidStatus]

    # @!method env
    #   @return [Hash{String=>Object}] the Rack environment

    # @!method key
    #   @api private
    # @!method format_among(types)
    #   @api private
    # @!method reroute(found, excluded)
    #   @api private
    # @!method mount_at
    #   @api private
    # @!method streamed?
    #   @api private
    # @!method open_spooled
    #   @api private
    # @!method read_chunk
    #   @api private
    # @!method respond_with_file(status, headers, path)
    #   @api private
    # @!method respond_with_problem(status, code, detail)
    #   @api private
    # @!method start(status, headers)
    #   @api private
    # @!method awaits_response?
    #   @api private
    # @!method hijack
    #   @api private
    # @!method rack_head
    #   @api private
    # @!method rack_finishers
    #   @api private
    # @!method respond_to_rack
    #   @api private

    # Yields the body in pieces. With `stream_body: true` they are those in which it comes, each once, and the fiber waits until the client has sent
    # the next one. Otherwise they are of the whole body, which {#body} has too.
    #
    # @yieldparam piece [String] binary
    # @return [void]
    # @raise [BadRequest] when the client breaks off or is silent for too long, or the body is over its bound
    # @raise [RequestFinished] when the request is over
    def each_body_chunk(&block)
      return each_chunk_of_whole(&block) unless streamed?

      while (piece = read_chunk)
        has_pieces = true
        yield piece
      end
      each_chunk_of_whole(&block) unless has_pieces || streamed? # another fiber has read it whole meanwhile
    end

    # Records that a Rack app has returned, and its response has begun.
    # @api private
    def note_begin = @is_begun = true

    # @return [Boolean]
    # @api private
    def begun? = @is_begun == true

    # @return [String, nil] the host that the client requested, with its port if there is one; nil in HTTP/1.0 without a Host
    def host = header("host")

    # @return [String] how the client spoke to this server; a proxy may have been spoken to otherwise
    def scheme = "http"

    # @return [String, nil]
    def content_type = header("content-type")

    # @return [Integer, nil] the bytes that the body is announced to have; nil when they are not, as in a chunked one
    def content_length = header("content-length")&.to_i

    private

    def each_chunk_of_whole
      return body.then { |bytes| yield bytes unless bytes.empty? } unless (descriptor = open_spooled)

      IO.open(descriptor, "rb") do |file|
        at = 0
        while at < file.stat.size
          piece = file.pread(CHUNK_BYTES, at) # by positions, which `rack.input` does not move
          at += piece.bytesize
          yield piece # which the block may change
        end
      end
    end
  end
end
