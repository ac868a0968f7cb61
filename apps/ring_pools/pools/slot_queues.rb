# frozen_string_literal: true

module RingPools
  module Pools
    # Owns the queues in which the slots of a pool stand, each in one of them or in none: circular doubly linked lists over two
    # arrays, so that a slot joins, leaves and changes its queue in a constant number of steps wherever it stands.
    #
    # The first places of the arrays are the heads of the queues; slots are the numbers after them.
    class SlotQueues
      # @return [Array<Integer>] what stands after each slot and each head of a queue; to look at only
      attr_reader :after

      # @param count [Integer] of queues; they are 0 to count - 1, and the first slot is count
      def initialize(count)
        @count = count
        @after = Array.new(count) { |queue| queue }
        @before = Array.new(count) { |queue| queue }
      end

      # @param slot [Integer] that stands in no queue
      # @param queue [Integer]
      def append(slot, queue)
        last = @before[queue]
        @after[last] = slot
        @before[slot] = last
        @after[slot] = queue
        @before[queue] = slot
      end

      # @param slot [Integer] that stands in a queue
      def remove(slot)
        after = @after[slot]
        before = @before[slot]
        @after[before] = after
        @before[after] = before
      end

      # Moves the slot that has stood in a queue for longest to the end of another one.
      #
      # @param queue [Integer]
      # @param other [Integer]
      # @return [Integer, nil] the slot
      def move_first(queue, other)
        slot = @after[queue]
        return if slot < @count

        rest = @after[slot]
        @after[queue] = rest
        @before[rest] = queue
        last = @before[other]
        @after[last] = slot
        @before[slot] = last
        @after[slot] = other
        @before[other] = slot
      end

      # Moves the slots of a queue up to one of them to the end of another one, in their order and in one piece.
      #
      # @param queue [Integer]
      # @param slot [Integer] the last that goes
      # @param other [Integer]
      def move_until(queue, slot, other)
        first = @after[queue]
        rest = @after[slot]
        @after[queue] = rest
        @before[rest] = queue
        last = @before[other]
        @after[last] = first
        @before[first] = last
        @after[slot] = other
        @before[other] = slot
      end

      # @param queue [Integer]
      # @return [Integer, nil] the slot that has stood in it for longest
      def first(queue)
        slot = @after[queue]
        slot unless slot < @count
      end

      # @param queue [Integer]
      # @return [Array<Integer>] its slots, the longest standing first
      def to_a(queue)
        slots = []
        slot = @after[queue]
        until slot == queue
          slots << slot
          slot = @after[slot]
        end
        slots
      end

      # Makes a queue of these slots, in this order. What stood in it before stands in none.
      #
      # @param queue [Integer]
      # @param slots [Array<Integer>]
      def fill(queue, slots)
        @after[queue] = @before[queue] = queue
        slots.each { |slot| append(slot, queue) }
      end
    end
  end
end
