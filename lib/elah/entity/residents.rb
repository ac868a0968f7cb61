# frozen_string_literal: true

module Elah
  class Entity
    # The entities of a collection in this worker's memory, limited in number. When it is full, it evicts an idle entity that was not called since
    # the last check (the "second chance" algorithm).
    class Residents
      # @param max [Integer]
      def initialize(max)
        @max = max
        @activations = {}
      end

      # @return [Hash{String=>Activation}] by key; read only
      attr_reader :activations

      # @return [Integer]
      def size = @activations.size

      # @param activation [Activation]
      # @param settled [Integer] the batch up to which all batches are settled
      # @return [Activation, nil] nil when there is no room, and no entity can be evicted
      def add(activation, settled)
        @activations[activation.key] = activation if @activations.size < @max || make_room(settled)
      end

      # Removes an entity that other workers may own soon.
      #
      # @param activation [Activation]
      def delete(activation)
        activation.leave_collection
        @activations.delete(activation.key)
      end

      # @param shards [Hash{Integer=>Object}]
      # @return [Array<Activation>] the entities of the shards
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
