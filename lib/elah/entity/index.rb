# frozen_string_literal: true

require_relative "../store/interface/pages"

module Elah
  module Shards
    # Rows that belong to no single entity: written by calls of the entities, stored together with their state, and readable by every process.
    # Reads see what earlier calls of the entity and its running call have written. What they return is UTF-8 where the bytes are valid, else binary.
    class Index
      include Store::Interface::Pages

      alias get_native get
      private :get_native, :put_native, :range_native

      # @param entity_class [Class]
      # @param name [Symbol]
      # @return [Integer] the position of the index's table among those of the class
      # @raise [ArgumentError] when there is no such index
      # @api private
      def self.number(entity_class, name)
        at = entity_class.indexes.index(name) or
          raise ArgumentError, "#{entity_class} has no index #{name.inspect}; it has #{entity_class.indexes.inspect}."
        at + 1
      end

      # @!method self.open(state, number)
      #   @param state [Elah::Shards::State]
      #   @api private
      #   @param number [Integer]
      #   @return [Index]

      # @!method put_joined(key_parts, *parts)
      #   Does the same as {#put} for a row made of parts. They are joined in the batch itself, which is faster than a temporary String.
      #   `put_joined(2, "guest ", 7, "came at ", time)` stores the same row as `put("guest 7", "came at #{time}")`.
      #
      #   @param key_parts [Integer] number of parts that form the key; the others form the value
      #   @param parts [Array<String, Integer>]
      #   @return [nil]
      #   @raise [Store::InvalidKey, Store::TooLarge]
      #   @raise [TypeError] when a part has another class

      # @!method delete(key)
      #   @param key [String]
      #   @return [nil]

      # @!method get_at_once(key)
      #   As {#get}, but binary, and it does not wait for earlier calls of the entity: what they have written may be missing.
      #   @api private
      #   @param key [String]
      #   @return [String, nil]

      # @param key [String]
      # @return [String, nil]
      def get(key)
        value = get_native(key)
        value && Text.tag(value)
      end

      # Rows in the order of their keys' bytes. All conditions must hold.
      #
      # @param prefix [String, nil] keys that start with it
      # @param from [String, nil] keys from this one on
      # @param to [String, nil] keys before this one
      # @param after [String, nil] keys after this one, in the direction of the walk
      # @param limit [Integer] maximum number of rows
      # @param reverse [Boolean] from the last key to the first
      # @return [Array<Array(String, String)>] keys and values; at most `limit`, see {#each} for all
      def range(prefix: nil, from: nil, to: nil, after: nil, limit: Store::Table::LIMIT, reverse: false)
        Text.tag_entries(range_native([prefix, from, to, after], Store.limit(limit), reverse))
      end

      # @param key [String] 1 to 480 bytes
      # @param value [String]
      # @param ttl [Numeric, nil] seconds after which the row expires; nil never expires it
      # @return [nil]
      # @raise [Store::InvalidKey, Store::TooLarge]
      def put(key, value, ttl: nil) = put_native(key, value, ttl && Store.milliseconds(ttl))
    end
  end

  class Entity
    Index = Shards::Index
  end
end
