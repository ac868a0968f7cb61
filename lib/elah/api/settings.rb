# frozen_string_literal: true

# The settings of nested scopes: a class, its namespaces and the APIs that mount it each add a layer.
module Elah
  class API
    # The settings of one scope. `single` values override those of outer scopes, `stacked` ones join them.
    class Layer
      attr_reader :single, :stacked

      def initialize
        @single = {}
        @stacked = Hash.new { |hash, key| hash[key] = [] }
      end

      # @return [Layer] a copy that later statements in the scope do not change
      def snapshot
        copy = Layer.new
        copy.single.merge!(single)
        stacked.each { |key, values| copy.stacked[key].concat(values) }
        copy
      end
    end

    # The settings of an endpoint: a stack of layers, the outermost first.
    class Settings
      # @param layers [Array<Layer>]
      def initialize(layers)
        @layers = layers
      end

      # @return the innermost value of the key, or nil
      def [](key)
        layer = @layers.reverse_each.find { |candidate| candidate.single.key?(key) }
        layer&.single&.fetch(key)
      end

      # @return [Array] all values of the key, outermost first
      def stack(key) = @layers.flat_map { |layer| layer.stacked.fetch(key, []) }

      # @return [Array] all values of the key, innermost scope first
      def stack_from_innermost(key) = @layers.reverse.flat_map { |layer| layer.stacked.fetch(key, []) }

      # @return [Hash] the stacked hashes of the key in one, where the inner ones win
      def merged(key) = stack(key).reduce({}, :merge)

      # @return [Array] the values of the innermost layer that has any
      def innermost(key)
        layer = @layers.reverse_each.find { |candidate| candidate.stacked.fetch(key, []).any? }
        layer ? layer.stacked[key] : []
      end
    end
  end
end
