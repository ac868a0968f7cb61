# frozen_string_literal: true

require_relative "errors"

module Stats
  # Owns the body of a request: as it came, or inflated when it came in gzip. What it inflates to is bounded while it grows.
  module Body
    PIECE_BYTES = 16_384

    class << self
      # @param request [#body, #header]
      # @param bytes_max [Integer] what a compressed body may inflate to
      # @return [String] binary
      # @raise [Refused]
      def read(request, bytes_max)
        case encoding = request.header("content-encoding")&.downcase
        when nil, "", "identity" then request.body
        when "gzip", "x-gzip" then inflate(request.body, bytes_max)
        else raise Refused.new("unsupported_encoding", "A body may be sent in gzip or as it is, not in #{encoding.scrub[0, 40]}.", 415)
        end
      end

      private

      def inflate(bytes, bytes_max)
        require "zlib"
        inflater = Zlib::Inflate.new(16 + Zlib::MAX_WBITS)
        text = "".b
        pieces(bytes) do |piece|
          inflater.inflate(piece) do |inflated|
            text << inflated
            raise Refused.new("body_too_large", "The body inflates to more than #{bytes_max} bytes.", 413) if text.bytesize > bytes_max
          end
        end
        raise Refused.new("invalid_gzip", "The body in gzip is cut off.", 400) unless inflater.finished?

        text
      rescue Zlib::Error => e
        raise Refused.new("invalid_gzip", "The body is no gzip: #{e.message}.", 400)
      ensure
        inflater&.close
      end

      def pieces(bytes)
        (0...bytes.bytesize).step(PIECE_BYTES) { |start| yield bytes.byteslice(start, PIECE_BYTES) }
      end
    end
  end
end
