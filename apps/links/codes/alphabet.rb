# frozen_string_literal: true

module Links
  module Codes
    # Owns how a number becomes a generated code: numbers below 58^6 give codes of six characters, the following ones
    # codes of seven. The number cannot be told from the code without the store's secret, so one code tells nothing about
    # another.
    class Alphabet
      # Digits and letters without those that look alike: no 0, O, I, l.
      CHARACTERS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".chars.freeze
      BASE = CHARACTERS.size

      # @param secret [String]
      def initialize(secret)
        @short = Elah::Permutation.new(secret, high: BASE**3, low: BASE**3)
        @long = Elah::Permutation.new(secret, high: BASE**3, low: BASE**4)
      end

      # @param number [Integer] from 0
      # @return [String] different for each number
      # @raise [RangeError] past the last code of seven characters
      def code(number)
        return spell(@short.call(number), 6) if number < @short.size

        number -= @short.size
        raise RangeError, "All #{@short.size + @long.size} codes are used." if number >= @long.size

        spell(@long.call(number), 7)
      end

      private

      def spell(number, length) = CHARACTERS.values_at(*number.digits(BASE)).join.reverse.rjust(length, CHARACTERS.first)
    end
  end
end
