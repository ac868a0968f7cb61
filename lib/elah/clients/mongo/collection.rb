# frozen_string_literal: true

require_relative "options"
require_relative "query"
require_relative "writes"

module Elah
  class Mongo
    # One collection of documents. Every method suspends only the calling fiber, until the server has replied.
    #
    # Filters, updates and documents are Hashes with String or Symbol keys; results have String keys. Any method may raise Elah::Unavailable,
    # Elah::PoolExhausted, Elah::QueryTimeout, {Refused}, and {InvalidValue} for a value that BSON cannot represent.
    class Collection
      include Writes

      # @return [String]
      attr_reader :name

      # @api private
      # @param mongo [Mongo]
      # @param name [String]
      def initialize(mongo, name)
        @mongo = mongo
        @name = name
      end

      # The documents that match, fetched in batches when they are walked through.
      #
      # @param filter [Hash]
      # @param limit [Integer, nil]
      # @param skip [Integer, nil]
      # @param sort [Hash, nil] names to 1 or -1
      # @param projection [Hash, nil] names to 1 or 0
      # @param batch_size [Integer, nil] documents per batch; nil is the server's choice
      # @param hint [Hash, String, nil] the index to use
      # @param collation [Hash, nil]
      # @param comment [String, nil] shown in the server's log
      # @return [Query]
      def find(filter = {}, limit: nil, skip: nil, sort: nil, projection: nil, batch_size: nil, hint: nil, collation: nil,
               comment: nil)
        options = Options.to_protocol({ limit: limit, skip: skip, sort: sort, projection: projection, batch_size: batch_size,
                                        hint: hint, collation: collation, comment: comment })
        Query.new { @mongo.send(:find_native, @name, filter, options) }
      end

      # @param filter [Hash]
      # @param skip [Integer, nil]
      # @param sort [Hash, nil] names to 1 or -1
      # @param projection [Hash, nil] names to 1 or 0
      # @param hint [Hash, String, nil] the index to use
      # @param collation [Hash, nil]
      # @return [Hash{String=>Object}, nil] a document that matches, the first one in that order
      def find_one(filter = {}, skip: nil, sort: nil, projection: nil, hint: nil, collation: nil)
        options = { skip: skip, sort: sort, projection: projection, hint: hint, collation: collation }
        @mongo.send(:find_one_native, @name, filter, Options.to_protocol(options))
      end

      # @param pipeline [Array<Hash>] the stages
      # @param batch_size [Integer, nil]
      # @param allow_disk_use [Boolean, nil]
      # @param hint [Hash, String, nil] the index to use
      # @param collation [Hash, nil]
      # @param comment [String, nil] shown in the server's log
      # @return [Query]
      def aggregate(pipeline, batch_size: nil, allow_disk_use: nil, hint: nil, collation: nil, comment: nil)
        options = Options.to_protocol({ batch_size: batch_size, allow_disk_use: allow_disk_use, hint: hint, collation: collation,
                                        comment: comment })
        Query.new { @mongo.send(:aggregate_native, @name, pipeline, options) }
      end

      # @param filter [Hash, nil] nil returns the number that the collection's metadata has, at once
      # @param limit [Integer, nil] count no further
      # @param skip [Integer, nil]
      # @param hint [Hash, String, nil] the index to use
      # @return [Integer]
      def count(filter = nil, limit: nil, skip: nil, hint: nil)
        options = Options.to_protocol({ limit: limit, skip: skip, hint: hint })
        filter = {} if filter.nil? && !options.empty?
        @mongo.send(:count_native, @name, filter, options)
      end

      # Creates an index unless it exists.
      #
      # @param keys [Hash] names to 1 or -1
      # @param unique [Boolean, nil]
      # @param name [String, nil] nil makes one of the keys
      # @param sparse [Boolean, nil]
      # @param expire_after_seconds [Integer, nil] documents are deleted so long after the time in this field
      # @param partial_filter_expression [Hash, nil] only documents that match are in the index
      # @param collation [Hash, nil]
      # @return [String] its name
      def create_index(keys, unique: nil, name: nil, sparse: nil, expire_after_seconds: nil, partial_filter_expression: nil,
                       collation: nil)
        create_indexes([{ keys: keys, unique: unique, name: name, sparse: sparse, expire_after_seconds: expire_after_seconds,
                          partial_filter_expression: partial_filter_expression, collation: collation }]).first
      end

      # @param indexes [Array<Hash{Symbol=>Object}>] each with `keys:` and the other arguments of {#create_index}
      # @return [Array<String>] their names
      def create_indexes(indexes)
        models = indexes.map { |index| [index.fetch(:keys), Options.to_protocol(index.reject { |name, _| name == :keys })] }
        @mongo.send(:create_indexes_native, @name, models)
      end

      # Drops the collection with its indexes. That it is not there is no error.
      #
      # @return [nil]
      def drop = @mongo.send(:drop_native, @name)

      def inspect = "#<Elah::Mongo::Collection #{@mongo.database}.#{@name}>"
    end
  end
end
