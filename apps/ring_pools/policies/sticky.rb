# frozen_string_literal: true

require_relative "longest_idle"

module RingPools
  module Policies
    # Gives a session the number that it had last, as long as nobody else has had it since, else the one that nobody has had for the
    # longest time. It remembers one session per number.
    class Sticky < LongestIdle
      def initialize(queues, queue)
        super
        @slots = {}
        @sessions = []
      end

      # @param (see LongestIdle#take)
      # @return (see LongestIdle#take)
      def take(session)
        slot = session && @slots[session]
        slot ? @queues.remove(slot) : slot = super
        forget(slot) if slot
        slot
      end

      # @param (see LongestIdle#put)
      def put(slot, session = nil)
        super
        return unless session

        previous = @slots[session]
        @sessions[previous] = nil if previous
        @slots[session] = slot
        @sessions[slot] = session
      end

      # @param (see LongestIdle#remove)
      def remove(slot)
        super
        forget(slot)
      end

      # @param slot [Integer]
      # @return [String, nil] the session that had it last
      def session(slot) = @sessions[slot]

      private

      def forget(slot)
        session = @sessions[slot] or return
        @slots.delete(session)
        @sessions[slot] = nil
      end
    end
  end
end
