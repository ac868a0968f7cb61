# frozen_string_literal: true

module Elah
  class Mongo
    # The twelve bytes by which documents are named unless they have an `_id` of their own: time in seconds, process, count.
    # A value: frozen, equal to another of the same bytes, and ordered by time.
    class ObjectId
      include Comparable

      PATTERN = /\A\h{24}\z/

      class << self
        # @return [ObjectId] that no other process makes
        def generate = Mongo.send(:generate_object_id)

        # @param text [String] 24 hexadecimal digits
        # @return [ObjectId]
        # @raise [InvalidValue]
        def from_string(text)
          return new([text].pack("H*")) if text.is_a?(String) && text.match?(PATTERN)

          raise InvalidValue, "An ObjectId is written in 24 hexadecimal digits, not #{text.inspect}."
        end
      end

      # @return [String] twelve bytes, frozen
      attr_reader :bytes

      # @param bytes [String] twelve bytes
      # @raise [InvalidValue]
      def initialize(bytes)
        raise InvalidValue, "An ObjectId must have 12 bytes, not #{bytes.bytesize}." unless bytes.bytesize == 12

        @bytes = bytes.b.freeze
        freeze
      end

      # @return [String] 24 hexadecimal digits
      def to_s = @bytes.unpack1("H*")

      # @return [Time] when it was made, to the second
      def time = Time.at(@bytes.unpack1("N"), in: "UTC")

      def ==(other) = other.is_a?(ObjectId) && @bytes == other.bytes
      alias eql? ==

      def hash = @bytes.hash

      # @param other [Object]
      # @return [Integer, nil]
      def <=>(other) = other.is_a?(ObjectId) ? @bytes <=> other.bytes : nil

      def inspect = "#<Elah::Mongo::ObjectId #{self}>"

      # @return [String] of the digits
      def to_json(*) = "\"#{self}\""
    end
  end
end
