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
