# frozen_string_literal: true

module Elah
  # A streamed response whose app has announced a content-length: the log says when the body has another length. The client of a longer body gets
  # the announced bytes, and the connection of a shorter one is closed.
  class MeasuredStream
    # @param stream [Elah::ResponseStream]
    # @param request [Elah::Request]
    # @param length [Integer] the announced bytes
    # @api private
    def initialize(stream, request, length)
      @stream = stream
      @request = request
      @length = length
      @written = 0
    end

    # @param piece [String]
    # @return [Integer] bytes
    def write(piece)
      was_within = @written <= @length
      @written += piece.bytesize
      warn("is longer than its content-length of #{@length} bytes, so the client receives only these") if was_within && @written > @length
      @stream.write(piece)
    end

    def close
      check
      @stream.close
    end

    # @return [Boolean] as of ResponseStream
    def finish
      check
      @stream.finish
    end

    # @return [Boolean] as of ResponseStream
    def wait_for_end = @stream.wait_for_end

    def break_off = @stream.break_off

    # @return [Boolean]
    def closed? = @stream.closed?

    # @return [Boolean]
    def client_gone? = @stream.client_gone?

    private

    def check
      return if @written >= @length || closed? || client_gone?

      warn("ended after #{@written} of the #{@length} bytes of its content-length, so the connection is closed")
    end

    def warn(what)
      Log.current.warn("The response body of request #{@request.id} #{@request.request_method} #{@request.path} #{what}")
    end
  end
end
