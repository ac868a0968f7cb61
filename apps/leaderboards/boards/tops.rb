# frozen_string_literal: true

module Leaderboards
  module Boards
    # Owns the texts of the first members that were asked for since a board has changed: many read what few write.
    class Tops
      # Longer lists are written each time.
      COUNT_MAX = 100

      def initialize
        @version = nil
        @texts = {}
      end

      # @param version [Object] of the board
      # @param count [Integer]
      # @param style [Symbol]
      # @yieldreturn [String] the list, when it is not known
      # @return [String]
      def fetch(version, count, style)
        return yield if count > COUNT_MAX

        unless version == @version
          @version = version
          @texts.clear
        end
        (@texts[style] ||= {})[count] ||= yield
      end
    end
  end
end
