# frozen_string_literal: true

require "strscan"

module Elah
  module Rack
    # The content of a body that the app has framed as chunks, as Rack::Chunked and `render stream: true` of Rails do. The server frames every body
    # itself, and differently for a client of HTTP/1.0.
    class ChunkedBody
      # A longer line means that the body has no chunks.
      LINE_BYTES_MAX = 1024
      SIZE = /(\h{1,15})[ \t]*(?:;[^\r\n]*)?\r\n/n.freeze
      NEXT_SIZE = /\r\n#{SIZE}/n.freeze
      private_constant :LINE_BYTES_MAX, :SIZE, :NEXT_SIZE

      # @param body [#each]
      def initialize(body)
        @body = body
        @scanner = StringScanner.new("".b)
        @size = SIZE
        @left = 0
      end

      # @yieldparam content [String] bytes of the content, as soon as they arrive; trailers are left out
      # @raise [InvalidRackResponse] when the body is not framed as chunks, or ends before its last one
      def each
        @body.each do |piece|
          content = content_of(piece.to_s)
          yield content unless content.empty?
        end
        refuse("it ends before its last chunk") unless @ended
      end

      private

      def content_of(piece)
        content = "".b
        @scanner.string = @scanner.rest << piece.b
        until @ended || @scanner.eos?
          break if @left.zero? && !next_chunk

          part = @scanner.peek(@left)
          content << part
          @scanner.pos += part.bytesize
          @left -= part.bytesize
        end
        content
      end

      # @return [Boolean] whether the line with the size of the next chunk has arrived
      def next_chunk
        unless @scanner.scan(@size)
          line = @scanner.rest.delete_prefix("\r\n")
          refuse("a line is #{line[0, 40].inspect} where the size of a chunk should be") if line.include?("\n") || line.bytesize > LINE_BYTES_MAX
          return false
        end
        @size = NEXT_SIZE
        @left = @scanner[1].hex
        @ended = @left.zero?
        true
      end

      def refuse(reason) = raise(InvalidRackResponse, "The app sent transfer-encoding: chunked, but its body has no valid chunks: #{reason}.")
    end
  end
end
