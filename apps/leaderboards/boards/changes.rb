# frozen_string_literal: true

require "securerandom"

module Leaderboards
  module Boards
    # The log of a board's last rank changes, in memory, for the feed. Changes are numbered. When the board is loaded again, a new log
    # with another ID begins.
    class Changes
      KEPT = 1000

      # @return [String] the ID of this log
      attr_reader :log_id
      # @return [Integer] of the last change
      attr_reader :number

      def initialize
        @log_id = SecureRandom.hex(4)
        @number = 0
        @last = []
      end

      # @param text [String] JSON
      def note(text)
        @number += 1
        @last << text
        @last.shift if @last.size > KEPT
      end

      # @param log_id [String, nil] of the log that the reader has read
      # @param number [Integer] of the last change that it has
      # @return [Array(String, Integer, Array<String>), Array(String, Integer, nil)] the ID of this log, the number of the last
      #   change, and the changes after `number`; nil if some of them are no longer in the log
      def since(log_id, number)
        missing = @number - number
        return [@log_id, @number, nil] if log_id != @log_id || missing.negative? || missing > @last.size

        [@log_id, @number, missing.zero? ? [] : @last.last(missing)]
      end
    end
  end
end
