# frozen_string_literal: true

require_relative "bulk"
require_relative "options"

module Elah
  class Mongo
    # Result of an update.
    #
    # @attr_reader [Integer] matched number of documents
    # @attr_reader [Integer] modified number of documents
    # @attr_reader [Object, nil] upserted_id the `_id` of an upserted document
    UpdateResult = Struct.new(:matched, :modified, :upserted_id)

    # The methods of {Collection} that write.
    module Writes
      # @param document [Hash] gets an ObjectId as `_id` unless it has one; the Hash itself is left as it is
      # @return [Object] the `_id`
      # @raise [DuplicateKey]
      def insert_one(document) = @mongo.send(:insert_native, @name, [document], {}).first

      # @param documents [Array<Hash>] get an ObjectId as `_id` unless they have one
      # @param ordered [Boolean] whether the first that fails ends it; otherwise the others are inserted
      # @return [Array<Object>] the `_id`s
      # @raise [DuplicateKey, WriteFailed] its `write_errors` say which documents failed
      def insert_many(documents, ordered: true)
        return [] if documents.empty?

        @mongo.send(:insert_native, @name, documents, { "ordered" => ordered })
      end

      # Changes one document that matches.
      #
      # @param filter [Hash]
      # @param update [Hash, Array<Hash>] operators as `"$set"`, or stages of an aggregation
      # @param upsert [Boolean, nil] whether to insert a document when none matches
      # @param array_filters [Array<Hash>, nil]
      # @param hint [Hash, String, nil] the index to use
      # @param collation [Hash, nil]
      # @return [UpdateResult]
      # @raise [DuplicateKey]
      def update_one(filter, update, upsert: nil, array_filters: nil, hint: nil, collation: nil)
        change(:update_one, filter, update, upsert: upsert, array_filters: array_filters, hint: hint, collation: collation)
      end

      # Changes all documents that match.
      #
      # @param (see #update_one)
      # @return [UpdateResult]
      def update_many(filter, update, upsert: nil, array_filters: nil, hint: nil, collation: nil)
        change(:update_many, filter, update, upsert: upsert, array_filters: array_filters, hint: hint, collation: collation)
      end

      # Puts a document in the place of one that matches, which keeps its `_id`.
      #
      # @param filter [Hash]
      # @param document [Hash] without operators
      # @param upsert [Boolean, nil] whether to insert it when none matches
      # @param hint [Hash, String, nil] the index to use
      # @param collation [Hash, nil]
      # @return [UpdateResult]
      # @raise [DuplicateKey]
      def replace_one(filter, document, upsert: nil, hint: nil, collation: nil)
        change(:replace_one, filter, document, upsert: upsert, hint: hint, collation: collation)
      end

      # Finds a document and changes it in one atomic step.
      #
      # @param filter [Hash]
      # @param update [Hash, Array<Hash>] operators as `"$set"`, or stages of an aggregation
      # @param returns [Symbol] the document as it was, `:before`, or as it is, `:after`
      # @param upsert [Boolean, nil]
      # @param sort [Hash, nil] which one, if several match
      # @param projection [Hash, nil]
      # @param array_filters [Array<Hash>, nil]
      # @param hint [Hash, String, nil] the index to use
      # @return [Hash{String=>Object}, nil]
      def find_one_and_update(filter, update, returns: :before, upsert: nil, sort: nil, projection: nil, array_filters: nil, hint: nil)
        find_one_and(:update, filter, update, returns, upsert: upsert, sort: sort, projection: projection, array_filters: array_filters, hint: hint)
      end

      # Finds a document and replaces it in one atomic step.
      #
      # @param filter [Hash]
      # @param document [Hash] without operators
      # @param returns [Symbol] the document as it was, `:before`, or as it is, `:after`
      # @param upsert [Boolean, nil]
      # @param sort [Hash, nil] which one, if several match
      # @param projection [Hash, nil]
      # @param hint [Hash, String, nil] the index to use
      # @return [Hash{String=>Object}, nil]
      def find_one_and_replace(filter, document, returns: :before, upsert: nil, sort: nil, projection: nil, hint: nil)
        find_one_and(:replace, filter, document, returns, upsert: upsert, sort: sort, projection: projection, hint: hint)
      end

      # @param filter [Hash]
      # @param sort [Hash, nil] which one, if several match
      # @param projection [Hash, nil]
      # @param hint [Hash, String, nil] the index to use
      # @return [Hash{String=>Object}, nil] the document that was deleted
      def find_one_and_delete(filter, sort: nil, projection: nil, hint: nil)
        options = Options.to_protocol({ sort: sort, projection: projection, hint: hint })
        @mongo.send(:find_one_and_native, @name, filter, :delete, nil, options)
      end

      # @param filter [Hash]
      # @param hint [Hash, String, nil] the index to use
      # @return [Integer] 1, or 0 when none matched
      def delete_one(filter, hint: nil) = @mongo.send(:delete_native, @name, false, filter, Options.to_protocol({ hint: hint }))

      # @param filter [Hash] `{}` for all
      # @param hint [Hash, String, nil] the index to use
      # @return [Integer] how many there were
      def delete_many(filter, hint: nil) = @mongo.send(:delete_native, @name, true, filter, Options.to_protocol({ hint: hint }))

      # Writes of several kinds in few commands.
      #
      # @example
      #   items.bulk_write { |bulk| bulk.insert_one({ n: 1 }).update_one({ n: 2 }, { "$inc" => { n: 1 } }).delete_many({ n: 0 }) }
      #
      # @param ordered [Boolean] whether the first that fails ends it; otherwise all are tried
      # @yieldparam bulk [Bulk]
      # @return [BulkResult]
      # @raise [DuplicateKey, WriteFailed] its `write_errors` say which writes failed, counted from 0
      def bulk_write(ordered: true)
        bulk = Bulk.new
        yield bulk
        BulkResult.new(*@mongo.send(:bulk_write_native, @name, bulk.writes, ordered))
      end

      private

      def change(kind, filter, update, **options)
        UpdateResult.new(*@mongo.send(:update_native, kind, @name, filter, update, Options.to_protocol(options)))
      end

      def find_one_and(kind, filter, update, returns, **options)
        unless %i[before after].include?(returns)
          raise ArgumentError, "returns: must be :before or :after, not #{returns.inspect}"
        end

        options = Options.to_protocol({ **options, return_document: returns })
        @mongo.send(:find_one_and_native, @name, filter, kind, update, options)
      end
    end
  end
end
