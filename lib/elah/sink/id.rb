# frozen_string_literal: true

module Elah
  class Sink
    # IDs of events: UUIDs, as text outside and as 16 bytes inside.
    module Id
      UUID = /\A\h{8}-\h{4}-\h{4}-\h{4}-\h{12}\z/.freeze

      module_function

      # @param raw [String] 16 bytes
      # @return [String]
      def text(raw) = SinkJournal.id_text(raw)

      # @param packed [String] 16 bytes for each id
      # @return [Array<String>] all of them in one step, which costs less than one by one
      def texts(packed) = packed.unpack("H8H4H4H4H12" * (packed.bytesize / 16)).each_slice(5).map { |parts| parts.join("-") }

      # @param text [String] a UUID
      # @return [String] 16 bytes
      # @raise [ArgumentError]
      def raw(text)
        return [text.delete("-")].pack("H32") if text.is_a?(String) && text.match?(UUID)

        raise ArgumentError, "The ID of an event must be a UUID, not #{text.inspect}: Elah::Sink.id_of makes one from any text."
      end

      # @param packed [String] 16 bytes for each id
      # @return [Array<String>] of 16 bytes each
      def unpack(packed) = Array.new(packed.bytesize / 16) { |index| packed.byteslice(index * 16, 16) }

      # @param name [String] the sender's own name of the event
      # @return [String] always the same UUID for the same text: version 8 of RFC 9562, over SHA-256
      def of(name)
        require "digest/sha2"
        bytes = Digest::SHA256.digest(name).byteslice(0, 16)
        bytes.setbyte(6, bytes.getbyte(6) & 0x0f | 0x80)
        bytes.setbyte(8, bytes.getbyte(8) & 0x3f | 0x80)
        text(bytes)
      end
    end
  end
end
