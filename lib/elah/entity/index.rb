# frozen_string_literal: true

module Elah
  class Entity
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

      # @param state [Elah::Shards::State]
      # @param number [Integer]
      def initialize(state, number)
        @state = state
        @number = number
      end

      # A key or value may also be given as an Array of Strings and Integers, its parts: they are joined where the row is gathered, which
      # is faster than to make a String that only the store sees.
      #
      # @param key [String, Array<String, Integer>] 1 to 480 bytes
      # @param value [String, Array<String, Integer>]
      # @param ttl [Numeric, nil] the seconds after which it expires; nil is never
      # @return [nil]
      # @raise [Store::InvalidKey, Store::TooLarge]
      # @raise [TypeError] when it, or a part, is something else
      def put(key, value, ttl: nil) = @state.put_row(@number, key, value, ttl && Store.milliseconds(ttl))

      # @param key [String]
      # @return [nil]
      def delete(key) = @state.delete_row(@number, key)

      # @param key [String]
      # @return [String, nil]
      def get(key) = @state.get_row(@number, key)
    end
  end
end
