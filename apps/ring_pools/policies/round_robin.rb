# frozen_string_literal: true

module RingPools
  module Policies
    # Gives the free number that comes next in the order of the slots, and begins again after the last. The free slots are bits
    # in words of {BITS}, over which two more layers of words say where bits are: three looks find the next one of 216,000.
    class RoundRobin
      # Bits of a word: Ruby keeps such an Integer without an object.
      BITS = 60
      FULL = (1 << BITS) - 1
      LAYERS = 3

      def initialize(*)
        @layers = Array.new(LAYERS) { [] }
        @next = 0
      end

      # @param (see LongestIdle#take)
      # @return (see LongestIdle#take)
      def take(_session)
        slot = following(0, @next) || following(0, 0) or return
        take_again(slot)
        slot
      end

      # @param (see LongestIdle#put)
      def put(slot, _session = nil)
        @layers.each do |words|
          index, bit = slot.divmod(BITS)
          words[index] = (words[index] || 0) | (1 << bit)
          slot = index
        end
      end

      # @param (see LongestIdle#remove)
      def remove(slot)
        @layers.each do |words|
          index, bit = slot.divmod(BITS)
          words[index] &= ~(1 << bit)
          break unless words[index].zero?

          slot = index
        end
      end

      # @param (see LongestIdle#take_again)
      def take_again(slot)
        remove(slot)
        @next = slot + 1
      end

      # The slot that is next comes first.
      #
      # @return (see LongestIdle#to_a)
      def to_a
        slots = @layers.first.each_with_index.flat_map do |word, index|
          (0...BITS).select { |bit| word.to_i[bit] == 1 }.map { |bit| (index * BITS) + bit }
        end
        later, earlier = slots.partition { |slot| slot >= @next }
        later + earlier
      end

      private

      # @return [Integer, nil] the first bit of a layer that is set, from a position on
      def following(layer, position)
        words = @layers[layer]
        index, bit = position.divmod(BITS)
        word = words[index].to_i & (FULL << bit)
        if word.zero?
          return if layer == LAYERS - 1

          index = following(layer + 1, index + 1) or return
          word = words[index]
        end
        (index * BITS) + (word & -word).bit_length - 1
      end
    end
  end
end
