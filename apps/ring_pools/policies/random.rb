# frozen_string_literal: true

module RingPools
  module Policies
    # Gives any of the free numbers with the same chance. The free slots lie in an array without holes: one that leaves is
    # replaced by the last.
    class Random
      # @param random [#rand]
      def initialize(*, random: ::Random)
        @random = random
        @slots = []
        @places = []
      end

      # @param (see LongestIdle#take)
      # @return (see LongestIdle#take)
      def take(_session)
        return if @slots.empty?

        slot = @slots[@random.rand(@slots.size)]
        remove(slot)
        slot
      end

      # @param (see LongestIdle#put)
      def put(slot, _session = nil)
        @places[slot] = @slots.size
        @slots << slot
      end

      # @param (see LongestIdle#remove)
      def remove(slot)
        last = @slots.pop
        return if last == slot

        place = @places[slot]
        @slots[place] = last
        @places[last] = place
      end

      # @param (see LongestIdle#take_again)
      def take_again(slot) = remove(slot)

      # @return (see LongestIdle#to_a)
      def to_a = @slots.dup
    end
  end
end
