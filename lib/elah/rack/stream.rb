# frozen_string_literal: true

module Elah
  module Rack
    # The stream of a Rack 3 body: it writes the response and reads the request's body.
    class Stream
      # @param output [Elah::ResponseStream]
      # @param input [#read] rack.input
      def initialize(output, input)
        @output = output
        @input = input
      end

      # @return [String, nil] as IO#read
      def read(...) = @input.read(...)

      # Sends pieces; suspends the fiber while the client has too much unread data.
      #
      # @param pieces [Array<#to_s>]
      # @return [Integer] bytes
      # @raise [Errno::EPIPE] when the client has disconnected
      # @raise [IOError] when the stream is closed
      def write(*pieces)
        raise ClientGone, "The client closed the connection before the response was complete." if @is_partial
        raise IOError, "closed stream" if closed?

        pieces.sum { |piece| @output.write(piece.to_s) }
      rescue ClientGone
        raise Errno::EPIPE, "the client closed the connection"
      end

      # @return [self]
      def <<(piece)
        write(piece)
        self
      end

      # @return [self] does nothing else: each write goes to the connection at once
      def flush = self

      # The server closes the input.
      def close_read = nil

      # Ends the response; suspends the fiber until the connection has accepted all of it.
      def close_write
        finish unless closed?
        nil
      end

      alias close close_write

      # Waits until the body has closed the stream, which may be in another fiber, or the client has disconnected.
      #
      # @return [Boolean] false when the client disconnected before it had all
      # @api private
      def wait_for_end
        closed? ? @finishing&.pop : @is_partial = !@output.wait_for_end
        @output.close
        @is_partial == false
      rescue ClientGone
        @is_partial = true
        raise
      end

      # @return [Boolean]
      def closed? = @output.closed?

      private

      # The fiber of the request may wait for the end of this.
      def finish
        @finishing = Thread::Queue.new
        @is_partial = !@output.finish
      ensure
        @finishing.close
      end
    end
  end
end
