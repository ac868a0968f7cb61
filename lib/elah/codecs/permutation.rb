# frozen_string_literal: true

module Elah
  # A one-to-one mapping of the numbers below a size onto themselves, in an order that depends on a secret: a counter's numbers become codes that
  # never repeat, and nobody can guess one from another. It is FF1 of NIST SP 800-38G with AES-256 (crates/elah-permutation).
  #
  # The result depends on secret, size and number alone, and never changes from one version of Elah to another. Keep the secret where the counter
  # is, and change neither secret nor size while codes are in use.
  #
  # A call takes about two microseconds for sizes of at least 1,000,000. Below that the time grows in proportion: two milliseconds with 1,000
  # numbers.
  #
  # @example
  #   codes = Elah::Permutation.new(Random.urandom(32), size: 1_000_000)
  #   codes.call(0) # => 418_922, say
  #   codes.call(1) # => 73_508
  #   codes.size    # => 1_000_000
  class Permutation
    # @!method call(number)
    #   @param number [Integer] from 0, below {#size}
    #   @return [Integer] in the same range, another one for each
    #   @raise [RangeError] when the number is not in the range

    # @!method size
    #   @return [Integer] how many numbers it maps

    # @param secret [String] an unguessable secret; only its bytes count
    # @param size [Integer] from 1,000 to 2^63 - 1; the numbers are those below it
    # @return [Permutation]
    # @raise [ArgumentError] when the secret is empty, or there are too few or too many numbers
    # @raise [RangeError] when the size is negative or has more than 64 bits
    # @raise [TypeError] when the secret is no String, or the size no Integer
    def self.new(secret, size:) = open(secret, size)

    private_class_method :open
  end
end
