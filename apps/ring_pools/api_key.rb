# frozen_string_literal: true

require "digest"

module RingPools
  # Owns the key of the service: it opens every pool and everything about them.
  class ApiKey
    # @param key [String]
    def initialize(key)
      @digest = Digest::SHA256.digest(key).bytes.freeze
    end

    # Takes the same time for every wrong key.
    #
    # @param offered [String, nil]
    # @return [Boolean]
    def match?(offered)
      return false if offered.nil?

      difference = 0
      Digest::SHA256.digest(offered).each_byte.with_index { |byte, index| difference |= byte ^ @digest[index] }
      difference.zero?
    end

    # The key is a secret, so it is not shown.
    def inspect = "#<#{self.class}>"
  end
end
