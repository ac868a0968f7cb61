# frozen_string_literal: true

module Elah
  module Shards
    # Many calls of one method of entities, for {Entity::Region#call_many}: a column of keys and columns of texts, instead of an Array and
    # Strings for each call. It is native, and travels to other workers as bytes.
    #
    # @example
    #   calls = Elah::Entity::CallColumns.of(:deposit, texts: 1, arguments: [Time.now.to_i])
    #   calls.add("42", "rent")
    #   accounts.call_many(calls) # as accounts.call_many([["42", :deposit, "rent", now]])
    class CallColumns
      class << self
        # @param name [Symbol] of the method
        # @param texts [Integer] how many texts each call has, 0 to 4: they are its first arguments
        # @param arguments [Array] what follows the texts in every call
        # @return [CallColumns] without any calls
        # @raise [ArgumentError]
        def of(name, texts:, arguments: []) = open(name, texts, arguments.dup.freeze)

        # @api private
        # @param message [Array] from {#to_message}
        # @return [CallColumns]
        # @raise [ArgumentError] when it is damaged
        def from_message(message)
          name, texts, arguments, packed = message
          unpack(name, texts, arguments.freeze, packed)
        end

        private :open, :unpack
      end

      # @!method add(key, *texts)
      #   @param key [String] 1 to 255 bytes
      #   @param texts [Array<String, nil>] UTF-8
      #   @return [nil]
      #   @raise [ArgumentError] when there are more or fewer texts than calls have, or one is not UTF-8

      # @!method size
      #   @return [Integer]

      # @!method name
      #   @return [Symbol] of the method

      # @!method key(index)
      #   @param index [Integer]
      #   @return [String, nil]

      # @!method [](index)
      #   @param index [Integer]
      #   @return [Array, nil] the call as {Entity::Region#call_many} has it otherwise: key, name and arguments

      # @!method values_at(*indexes)
      #   @param indexes [Array<Integer>]
      #   @return [CallColumns] those calls
      #   @raise [IndexError]

      # @!method sort_out(carriers, shards, ways, from)
      #   @api private
      #   @param carriers [Hash{Integer=>Carrier}] by shard
      #   @param shards [Integer] how many there are
      #   @param ways [Hash{Carrier=>Array<Integer>}] gets the indexes of calls, from one on
      #   @param from [Integer]
      #   @return [Integer] the first call of whose shard no carrier is known

      # @return [Array<Array>] the calls as {Entity::Region#call_many} has them otherwise
      def to_a = Array.new(size) { |index| self[index] }

      # @api private
      # @return [Array] the calls for another worker: what all have in common, and the columns as bytes
      def to_message = [name, width, shared, pack]

      private :pack, :width, :shared
    end
  end

  class Entity
    CallColumns = Shards::CallColumns
  end
end
