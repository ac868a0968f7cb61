# frozen_string_literal: true

require "securerandom"

module Leaderboards
  module Boards
    # Owns the last changes of ranks of a board, in memory: what a feed tells. They are numbered; the numbers begin anew with each life of the
    # board, which has a name of its own.
    class Changes
      KEPT = 1000

      # @return [String] names this life of the board
      attr_reader :life
      # @return [Integer] of the last change
      attr_reader :number

      def initialize
        @life = SecureRandom.hex(4)
        @number = 0
        @last = []
      end

      # @param text [String] JSON
      def note(text)
        @number += 1
        @last << text
        @last.shift if @last.size > KEPT
      end

      # @param life [String, nil] that the reader knows
      # @param number [Integer] of the last change that it has
      # @return [Array(String, Integer, Array<String>), Array(String, Integer, nil)] this life, the number of the last change, and those that
      #   the reader does not have; nil when some of them are not known any more
      def since(life, number)
        missing = @number - number
        return [@life, @number, nil] if life != @life || missing.negative? || missing > @last.size

        [@life, @number, missing.zero? ? [] : @last.last(missing)]
      end
    end
  end
end
