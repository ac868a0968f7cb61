# frozen_string_literal: true

module Elah
  class Mongo
    # The result of a bulk write, in numbers of documents.
    #
    # @attr_reader [Integer] inserted
    # @attr_reader [Integer] matched
    # @attr_reader [Integer] modified
    # @attr_reader [Integer] deleted
    # @attr_reader [Integer] upserted
    BulkResult = Struct.new(:inserted, :matched, :modified, :deleted, :upserted)

    # Collects the writes of {Collection#bulk_write}, in their order.
    class Bulk
      # @api private
      # @return [Array<Array(Symbol, Hash)>]
      attr_reader :writes

      # @api private
      def initialize
        @writes = []
      end

      # @param document [Hash]
      # @return [self]
      def insert_one(document) = add(:insert, document)

      # @param filter [Hash]
      # @param update [Hash, Array<Hash>] operators as `"$set"`, or stages of an aggregation
      # @param upsert [Boolean]
      # @return [self]
      def update_one(filter, update, upsert: false) = add(:update, { "q" => filter, "u" => update, "upsert" => upsert })

      # @param filter [Hash]
      # @param update [Hash, Array<Hash>] operators as `"$set"`, or stages of an aggregation
      # @param upsert [Boolean]
      # @return [self]
      def update_many(filter, update, upsert: false)
        add(:update, { "q" => filter, "u" => update, "multi" => true, "upsert" => upsert })
      end

      # @param filter [Hash]
      # @param document [Hash] without operators
      # @param upsert [Boolean]
      # @return [self]
      def replace_one(filter, document, upsert: false) = add(:replace, { "q" => filter, "u" => document, "upsert" => upsert })

      # @param filter [Hash]
      # @return [self]
      def delete_one(filter) = add(:delete, { "q" => filter, "limit" => 1 })

      # @param filter [Hash]
      # @return [self]
      def delete_many(filter) = add(:delete, { "q" => filter, "limit" => 0 })

      private

      def add(kind, statement)
        @writes << [kind, statement]
        self
      end
    end
  end
end
