# frozen_string_literal: true

require "securerandom"

module Leaderboards
  module Boards
    # The last rank changes of a board, in memory, for the feed. They are numbered. The numbers restart when the board is loaded
    # again, and each load has its own name.
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
      # the reader does not have; nil if some of them are no longer known
      def since(life, number)
        missing = @number - number
        return [@life, @number, nil] if life != @life || missing.negative? || missing > @last.size

        [@life, @number, missing.zero? ? [] : @last.last(missing)]
      end
    end
  end
end
