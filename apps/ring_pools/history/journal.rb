# frozen_string_literal: true

require_relative "steps"

module RingPools
  module History
    # Owns the steps of one pool on their way into the store: each becomes a row, stored together with the answer's other writes.
    class Journal
      # @return [Integer] how many steps it was told of since {#restart}
      attr_reader :steps

      # @param rows [#put, #put_joined] the index of the steps
      # @param id [Integer] of the pool
      def initialize(rows, id)
        @rows = rows
        @prefix = Steps.prefix(id)
        @steps = 0
        @heads = {}
      end

      # @return [String] that the keys of all rows begin with
      attr_reader :prefix

      # @param at [Integer]
      # @param number [Integer]
      # @param hold [Integer] how long it is the holder's, in microseconds
      # @param grant [Integer]
      # @param session [String, nil]
      # @param parameters [String]
      def allocated(at, number, hold, grant, session, parameters)
        @steps += 1
        head = head(number, hold)
        return @rows.put_joined(2, @prefix, at, head, grant, "  ", parameters) unless session

        @rows.put_joined(2, @prefix, at, head, grant, " ", session, " ", parameters)
      end

      # @param number [Integer]
      # @param hold [Integer]
      # @return [String] what the value of an allocation begins with
      def head(number, hold) = @heads[number] ||= "A #{number} #{hold} ".freeze

      # Counts steps that others have written down.
      #
      # @param steps [Integer]
      def count(steps) = @steps += steps

      # @param (see #allocated)
      def renewed(at, number, hold, grant)
        @steps += 1
        @rows.put("#{@prefix}#{at}", "N #{number} #{hold} #{grant}")
      end

      # @param (see #allocated)
      def released(at, number, grant)
        @steps += 1
        @rows.put("#{@prefix}#{at}", "R #{number} 0 #{grant}")
      end

      # Begins to count anew, because the pool was written down.
      def restart = @steps = 0

      # Forgets how rows begin, because the terms have changed.
      def forget = @heads = {}
    end
  end
end
