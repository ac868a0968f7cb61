# frozen_string_literal: true

# Owns the scrambling of numbers: a keyed one-to-one mapping of a range onto itself.
require "digest"

module Links
  module Codes
    # A Feistel network with additions in place of xor, so that the range need not be a power of two: numbers below
    # `high * low` are split into two digits, and each round adds to one digit a keyed hash of the other. Every round can
    # be taken back, so no two numbers meet, whatever the hash gives.
    class Permutation
      # With the key unknown, eight rounds look random to who sees some of the pairs; four are the least that do.
      ROUNDS = 8

      # @param secret [String] the key
      # @param high [Integer] values of the upper digit
      # @param low [Integer] values of the lower digit
      def initialize(secret, high:, low:)
        @high = high
        @low = low
        @keys = Array.new(ROUNDS) { |round| secret + [high, low, round].pack("Q>Q>C") }
        @hash = Digest::SHA256.new
      end

      # @return [Integer] how many numbers it maps
      def size = @high * @low

      # @param number [Integer] from 0, below {#size}
      # @return [Integer] in the same range
      def call(number)
        upper, lower = number.divmod(@low)
        @keys.each_slice(2) do |even, odd|
          upper = (upper + keyed_hash(even, lower)) % @high
          lower = (lower + keyed_hash(odd, upper)) % @low
        end
        (upper * @low) + lower
      end

      private

      # 64 bits, so that the remainder favours no digit by more than one part in 10^12.
      def keyed_hash(key, digit) = @hash.digest(key + [digit].pack("Q>")).unpack1("Q>")
    end
  end
end
