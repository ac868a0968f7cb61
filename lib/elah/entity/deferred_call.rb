# frozen_string_literal: true

module Elah
  class Entity
    # A call that is described and not made yet: `Elah.gather` sends calls to the same worker together.
    class DeferredCall
      # @return [String]
      attr_reader :key

      # @return [Symbol]
      attr_reader :name

      # @return [Array]
      attr_reader :arguments

      # @param collection [Collection]
      # @param key [String]
      # @param name [Symbol]
      # @param arguments [Array]
      def initialize(collection, key, name, arguments)
        @collection = collection
        @key = key
        @name = name
        @arguments = arguments
      end

      # @return [Route] to the worker that owns the entity
      def route = @collection.route(@key)

      # Makes the call.
      #
      # @return [Object] its result
      def call = @collection.call(@key, @name, @arguments)
    end
  end
end
