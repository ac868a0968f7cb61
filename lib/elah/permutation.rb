# frozen_string_literal: true

module Elah
  # A one-to-one mapping of the numbers below a size onto themselves, in an order that only its secret knows: what a counter goes through, so that
  # its numbers become codes of which none comes twice and none tells another. It is native (ext/elah/src/permutation.rs).
  #
  # What it gives depends on nothing but secret, high, low and number, and never changes from one version of Elah to another: keep the secret where
  # the counter is, and change none of the three while codes are in use.
  #
  # @example
  #   codes = Elah::Permutation.new(Random.urandom(32), high: 1000, low: 1000)
  #   codes.call(0) # => 418_922, say
  #   codes.call(1) # => 73_508
  #   codes.size    # => 1_000_000
  class Permutation
    # @param secret [String] that nobody can guess; its bytes count, whatever its encoding
    # @param high [Integer] from 1
    # @param low [Integer] from 1; the numbers are those below `high * low`, at most 2^63 - 1 of them. The order is hardest to see through when
    #   both are about the same
    # @return [Permutation]
    # @raise [ArgumentError] when the secret is empty, high or low is 0, or there are too many numbers
    # @raise [RangeError] when high or low is negative or has more than 64 bits
    # @raise [TypeError] when the secret is no String, or high or low no Integer
    def self.new(secret, high:, low:) = open(secret, high, low)

    # @!method call(number)
    #   @param number [Integer] from 0, below {#size}
    #   @return [Integer] in the same range, another one for each
    #   @raise [RangeError] when the number is not in the range

    # @!method size
    #   @return [Integer] how many numbers it maps

    private_class_method :open
  end
end
