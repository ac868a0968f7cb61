# frozen_string_literal: true

module RingPools
  module Policies
    # Gives the number that nobody has had for the longest time, so that a late call for its last holder is least probable.
    # A free number is one link in a queue: everything takes a constant number of steps.
    class LongestIdle
      # @param queues [Elah::SlotQueues]
      # @param queue [Integer] of the free slots
      def initialize(queues, queue)
        @queues = queues
        @queue = queue
      end

      # @param _session [String, nil]
      # @return [Integer, nil] a free slot, which is free no longer
      def take(_session)
        slot = @queues.first(@queue)
        @queues.remove(slot) if slot
        slot
      end

      # @param slot [Integer] that is free from now on
      # @param _session [String, nil] who had it last
      def put(slot, _session = nil) = @queues.append(slot, @queue)

      # @param slot [Integer] a free one that is not to be given any more
      def remove(slot) = @queues.remove(slot)

      # Does again what {#take} has done.
      #
      # @param slot [Integer]
      def take_again(slot) = remove(slot)

      # @return [Array<Integer>] the free slots in the order in which a new policy is to be told of them
      def to_a = @queues.slots(@queue)
    end
  end
end
