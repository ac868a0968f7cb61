# frozen_string_literal: true

module Elah
  class Entity
    # A call that is described and not made: `Elah.gather` sends those together that go to the same worker.
    class DeferredCall
      # @return [String]
      attr_reader :key

      # @return [Symbol]
      attr_reader :name

      # @return [Array]
      attr_reader :arguments

      # @param region [Region]
      # @param key [String]
      # @param name [Symbol]
      # @param arguments [Array]
      def initialize(region, key, name, arguments)
        @region = region
        @key = key
        @name = name
        @arguments = arguments
      end

      # @return [Carrier] to the worker that owns the entity
      def carrier = @region.carrier(@key)

      # Makes the call.
      #
      # @return [Object] its answer
      def call = @region.call(@key, @name, @arguments)
    end
  end
end
