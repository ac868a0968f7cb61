# frozen_string_literal: true

require "stringio"

module Elah
  module Rack
    # The `rack.input` of all requests without a body. It has no state, so one object serves them all; closing it does nothing.
    class EmptyInput
      include Enumerable # as IO and StringIO

      # @param length [Integer, nil]
      # @param buffer [String, nil] emptied
      # @return [String, nil] "" or, for a length above 0, nil
      def read(length = nil, buffer = nil)
        buffer&.clear
        return if length&.positive?

        buffer || String.new(encoding: Encoding::BINARY)
      end

      # @raise [EOFError] unless the length is 0
      def readpartial(length, buffer = nil) = read(length, buffer) || raise(EOFError, "end of file reached")

      def gets(*) = nil
      def getc = nil
      def getbyte = nil

      # @return [self, Enumerator]
      def each(*) = block_given? ? self : [].each
      alias each_line each

      def rewind = 0
      def pos = 0
      def size = 0
      def eof? = true

      def binmode = self
      def binmode? = true
      def external_encoding = Encoding::BINARY

      def close = nil
      def closed? = false
    end

    # The `rack.input` of a request whose body was spooled. The file has no name, so it is not a File, which would have a path.
    class SpooledInput < IO
      # @return [Integer] bytes
      def size = stat.size
    end

    # The `rack.input` of a request whose body comes in pieces. It reads the whole body when it is first used: the handler may want the pieces.
    class StreamedInput < EmptyInput
      # @param request [Elah::Request]
      def initialize(request)
        super()
        @request = request
      end

      %i[read readpartial gets getc getbyte each each_line rewind pos size eof?].each do |name|
        define_method(name) { |*arguments, &block| (@whole ||= StringIO.new(@request.body)).public_send(name, *arguments, &block) }
      end
    end

    # Opens `rack.input` of requests that have a body.
    module Input
      # @param request [Elah::Request]
      # @return [StringIO, SpooledInput, StreamedInput] binary and at its start. A SpooledInput is closed at the end of the request
      def self.open(request)
        return StreamedInput.new(request) if request.streamed?

        descriptor = request.open_spooled or return StringIO.new(request.body)

        input = SpooledInput.for_fd(descriptor, "rb")
        input.rewind
        Elah.current_loop.current_task.root.at_end { input.close }
        input
      end
    end
  end
end
