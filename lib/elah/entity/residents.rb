# frozen_string_literal: true

module Elah
  class Entity
    # The entities of a region that are in memory in this worker, bounded in number. When there is no room one goes that nobody calls and that
    # was not called since it was last looked at: about the one that was called longest ago (the algorithm is known as "second chance").
    class Residents
      # @param max [Integer]
      def initialize(max)
        @max = max
        @activations = {}
      end

      # @return [Hash{String=>Activation}] by key; to look at only
      attr_reader :activations

      # @return [Integer]
      def size = @activations.size

      # @param activation [Activation]
      # @param settled [Integer] the batch up to which all are settled
      # @return [Activation, nil] nil when there is no room, and none can go
      def add(activation, settled)
        @activations[activation.key] = activation if @activations.size < @max || make_room(settled)
      end

      # Forgets an entity.
      #
      # @param activation [Activation]
      def delete(activation) = @activations.delete(activation.key)

      # @param shards [Hash{Integer=>Object}]
      # @return [Array<Activation>] those of the shards
      def of(shards) = @activations.each_value.select { |activation| shards.key?(activation.shard) }

      private

      def make_room(settled)
        (2 * @activations.size).times do
          key, activation = @activations.shift
          return true if !activation.take_used && activation.idle?(settled)

          @activations[key] = activation
        end
        false
      end
    end
  end
end
