# frozen_string_literal: true

module Links
  module Codes
    # The conversion of a number into a generated code: numbers below 58^6 become codes of six characters, larger ones codes of
    # seven. Without the store's secret nobody can compute the number of a code, so a code reveals nothing about others.
    class Alphabet
      # Digits and letters without look-alikes: no 0, O, I, l.
      CHARACTERS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz".chars.freeze
      BASE = CHARACTERS.size

      # All codes of two characters, in the order of their numbers.
      PAIRS = CHARACTERS.product(CHARACTERS).map { |pair| pair.join.freeze }.freeze
      private_constant :PAIRS

      # @param secret [String]
      def initialize(secret)
        @short = Elah::Permutation.new(secret, size: BASE**6)
        @long = Elah::Permutation.new(secret, size: BASE**7)
      end

      # @param number [Integer] from 0
      # @return [String] different for each number
      # @raise [RangeError] past the last code of seven characters
      def code(number)
        return six(@short.call(number)) if number < @short.size

        number -= @short.size
        raise RangeError, "All #{@short.size + @long.size} codes are used." if number >= @long.size

        first, rest = @long.call(number).divmod(BASE**6)
        CHARACTERS[first] + six(rest)
      end

      private

      # @param number [Integer] below 58^6
      def six(number)
        rest, last = number.divmod(PAIRS.size)
        first, middle = rest.divmod(PAIRS.size)
        "#{PAIRS[first]}#{PAIRS[middle]}#{PAIRS[last]}"
      end
    end
  end
end
