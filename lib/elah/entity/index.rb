# frozen_string_literal: true

module Elah
  module Shards
    # Rows that belong to no single entity: written by the entities' calls, stored together with their state, read by everybody.
    class Index
      # @param entity_class [Class]
      # @param name [Symbol]
      # @return [Integer] the place of the index's table among those of the class
      # @raise [ArgumentError] when there is no such index
      def self.number(entity_class, name)
        at = entity_class.indexes.index(name) or
          raise ArgumentError, "#{entity_class} has no index #{name.inspect}; it has #{entity_class.indexes.inspect}."
        at + 1
      end

      # @!method self.open(state, number)
      #   @param state [Elah::Shards::State]
      #   @param number [Integer]
      #   @return [Index]

      # @param key [String] 1 to 480 bytes
      # @param value [String]
      # @param ttl [Numeric, nil] the seconds after which it expires; nil is never
      # @return [nil]
      # @raise [Store::InvalidKey, Store::TooLarge]
      def put(key, value, ttl: nil) = put_native(key, value, ttl && Store.milliseconds(ttl))

      # @!method put_joined(key_parts, *parts)
      #   As {#put} for a row that is made of parts: they are joined where the row is gathered, which is faster than to make a String that only
      #   the store sees. `put_joined(2, "guest ", 7, "came at ", time)` puts what `put("guest 7", "came at #{time}")` puts.
      #
      #   @param key_parts [Integer] how many of the parts are the key's; the others are the value's
      #   @param parts [Array<String, Integer>]
      #   @return [nil]
      #   @raise [Store::InvalidKey, Store::TooLarge]
      #   @raise [TypeError] when a part is something else

      # @!method delete(key)
      #   @param key [String]
      #   @return [nil]

      # @!method get(key)
      #   @param key [String]
      #   @return [String, nil]

      private :put_native
    end
  end

  class Entity
    Index = Shards::Index
  end
end
