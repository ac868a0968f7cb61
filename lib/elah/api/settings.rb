# frozen_string_literal: true

# The settings of nested scopes: a class, its namespaces and the APIs that mount it each add a layer.
module Elah
  module Framework
    # The settings of one scope. `single` values override those of outer scopes, `stacked` ones join them. `parameters` are the `params` blocks for
    # the next endpoint or namespace.
    class Layer
      attr_reader :single, :stacked, :parameters

      # @param single [Hash{Symbol=>Object}]
      # @param stacked [Hash{Symbol=>Array}] makes an Array for a new key
      # @param parameters [Array<Parameters>]
      def initialize(single = {}, stacked = Hash.new { |hash, key| hash[key] = [] }, parameters = [])
        @single = single
        @stacked = stacked
        @parameters = parameters
      end

      # @return [Layer] a copy that later statements in the scope do not change
      def snapshot = Layer.new(single.dup, stacked.transform_values(&:dup), parameters.dup)

      # @return [Layer] one that later statements in the scope change, except for `params`
      def view = Layer.new(single, stacked, parameters.dup)
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

      # @return [Array<Parameters>] the `params` blocks, outermost first
      def parameters = @layers.flat_map(&:parameters)

      # @return [Parameters, nil] the last block of the innermost layer that has any
      def own_parameters = @layers.reverse_each.find { |layer| layer.parameters.any? }&.parameters&.last
    end
  end
end
