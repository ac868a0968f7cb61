# frozen_string_literal: true

require_relative "errors"

module Stats
  # The body of a request, inflated if it is gzip. The inflated size is limited while it grows, and so is the number of members.
  module Body
    PIECE_BYTES = 16_384
    # Each member costs time of its own, even a short one.
    MEMBERS_MAX = 1_000

    class << self
      # @param request [#body, #header]
      # @param bytes_max [Integer] the most bytes after inflating
      # @return [String] binary
      # @raise [Refused]
      def read(request, bytes_max)
        case encoding = request.header("content-encoding")&.downcase
        when nil, "", "identity" then request.body
        when "gzip", "x-gzip" then inflate(request.body, bytes_max)
        else raise Refused.new("unsupported_encoding", "The content encoding must be gzip or identity, not #{encoding.scrub[0, 40]}.", 415)
        end
      end

      private

      # RFC 1952 2.2: gzip has one or several members in a row.
      def inflate(bytes, bytes_max)
        require "zlib"
        inflater = Zlib::Inflate.new(16 + Zlib::MAX_WBITS)
        text = "".b
        start = members = 0
        while start < bytes.bytesize || members.zero?
          raise invalid("it has more than #{MEMBERS_MAX} members") if (members += 1) > MEMBERS_MAX

          start += inflate_member(inflater, bytes, start) do |inflated|
            text << inflated
            raise Refused.new("body_too_large", "The body inflates to more than #{bytes_max} bytes.", 413) if text.bytesize > bytes_max
          end
        end
        text
      rescue Zlib::Error => e
        raise invalid(e.message)
      ensure
        inflater&.close
      end

      # @return [Integer] the bytes of the member that begins at `start`
      def inflate_member(inflater, bytes, start, &block)
        inflater.reset
        until inflater.finished?
          raise invalid("it is cut off") if start >= bytes.bytesize

          inflater.inflate(bytes.byteslice(start, PIECE_BYTES), &block)
          start += PIECE_BYTES
        end
        inflater.total_in
      end

      def invalid(reason) = Refused.new("invalid_gzip", "The body is not gzip: #{reason}.", 400)
    end
  end
end
