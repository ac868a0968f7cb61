# frozen_string_literal: true

module Elah
  class Sink
    # An event as a destination receives it.
    class Event
      # The params of a request may have 100 levels of their own.
      DEPTH_MAX = 101
      private_constant :DEPTH_MAX

      # @return [String] name of its stream, frozen; empty if it has none
      attr_reader :stream

      # @return [Integer] when it was accepted, in milliseconds since 1970
      attr_reader :accepted_ms

      # @return [String] its bytes in the journal, frozen: the JSON of a Hash, or the String that was pushed
      attr_reader :bytes

      # @api private
      # @return [String] the id as 16 bytes
      attr_reader :raw_id

      # @api private
      def initialize(raw_id, stream, accepted_ms, json, bytes)
        @raw_id = raw_id
        @id = nil
        @stream = stream.freeze
        @accepted_ms = accepted_ms
        @json = json
        @bytes = bytes.freeze
        @data = nil
      end

      # @return [String] a UUID; the same when the event is delivered again
      def id = @id ||= Id.text(@raw_id)

      # @return [Boolean] whether it was pushed as a Hash
      def json? = @json

      # Whatever the sink has accepted can be read: the size of an event bounds the number of names in it.
      #
      # @return [Hash{String=>Object}, String] the data that was pushed; a Hash has Strings as keys. The caller may change it
      def data = @data ||= @json ? JSON.parse_within(@bytes, DEPTH_MAX, @bytes.bytesize) : @bytes.dup

      # @param key [String]
      # @return [Object, nil] a value of {#data}
      def [](key) = data[key]

      # @return [Time] when it was accepted
      def accepted_at = Time.at(0, @accepted_ms, :millisecond, in: "UTC")

      # Forgets how a destination has changed {#data}, before the next attempt.
      #
      # @api private
      def reset = @data = nil

      # @api private
      # @param block [#call] maps this event for a destination. It knows no other event, so its {Rejected} says nothing about the rest of the batch
      # @return [Object] the block's value
      def map_with(block)
        block.call(self)
      rescue Rejected => e
        raise ArgumentError, e.reasons.fetch(id, e.message)
      end

      def inspect = "#<#{self.class} #{id}#{" #{@stream}" unless @stream.empty?}>"
    end
  end
end
