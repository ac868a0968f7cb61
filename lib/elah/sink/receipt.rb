# frozen_string_literal: true

module Elah
  class Sink
    # Result of {Sink#push}.
    class Receipt
      # @return [Symbol] the durability that was reached
      attr_reader :durability

      # @api private
      # @param raw_id [String] 16 bytes
      # @param durability [Symbol]
      def initialize(raw_id, durability)
        @raw_id = raw_id
        @durability = durability
      end

      # @return [String] the event's ID, a UUID
      def id = Id.text(@raw_id)
    end

    # Result of {Sink#push_all}.
    class BatchReceipt
      # @return [Symbol] the durability that all events reached
      attr_reader :durability

      # @api private
      # @param packed [String] 16 bytes for each event
      # @param durability [Symbol]
      def initialize(packed, durability)
        @packed = packed
        @durability = durability
      end

      # @return [Array<String>] the events' IDs, in their order
      def ids = Id.texts(@packed)
    end
  end
end
