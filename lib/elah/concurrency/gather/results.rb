# frozen_string_literal: true

module Elah
  class Gather
    # Results of all calls of a gather, in their order.
    class Results
      include Enumerable

      # @param results [Hash{Object=>Result}]
      # @api private
      def initialize(results)
        @results = results.freeze
        freeze
      end

      # @param key [Object]
      # @return [Result, nil] result of one call
      def [](key) = @results[key]

      # @yieldparam result [Result]
      # @return [void]
      def each(&block) = @results.each_value(&block)

      # @return [Array<Object>] results and fallbacks
      # @raise [Exception] of a call that has neither
      def values = map(&:value)

      # @return [Hash{Object=>Object}] results and fallbacks by key
      # @raise [Exception] of a call that has neither
      def to_h = @results.transform_values(&:value)

      # @return [Boolean] whether every call returned a result
      def complete? = all?(&:returned?)
    end
  end
end
