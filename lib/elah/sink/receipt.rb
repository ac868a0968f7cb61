# frozen_string_literal: true

module Elah
  class Sink
    # What became of an event that {Sink#push} took.
    class Receipt
      # @return [Symbol] the durability that was met
      attr_reader :durability

      # @api private
      # @param raw_id [String] 16 bytes
      # @param durability [Symbol]
      def initialize(raw_id, durability)
        @raw_id = raw_id
        @durability = durability
      end

      # @return [String] of the event, a UUID
      def id = Id.text(@raw_id)
    end

    # What became of the events that {Sink#push_all} took.
    class BatchReceipt
      # @return [Symbol] the durability that was met by all
      attr_reader :durability

      # @api private
      # @param packed [String] 16 bytes for each event
      # @param durability [Symbol]
      def initialize(packed, durability)
        @packed = packed
        @durability = durability
      end

      # @return [Array<String>] of the events, in their order
      def ids = Id.texts(@packed)
    end
  end
end
