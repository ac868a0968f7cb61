# frozen_string_literal: true

module Leaderboards
  module Boards
    # A cache of the top lists that were read since the board's last change, for boards with many reads and few writes.
    class Tops
      # Longer lists are not cached.
      COUNT_MAX = 100

      def initialize
        @version = nil
        @texts = {}
      end

      # @param version [Object] of the board
      # @param count [Integer]
      # @param style [Symbol]
      # @yieldreturn [String] the list, if it is not cached
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
