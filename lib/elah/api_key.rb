# frozen_string_literal: true

require "digest/sha2"
require_relative "api_key/authorization"

module Elah
  # A secret that a client sends to show who it is. Only its digest is kept.
  #
  #   key = Elah::ApiKey.new(ENV.fetch("API_KEY"))
  #   key.match?(Elah::ApiKey.offered(request))
  #
  # An {Elah::API} asks for one with {Authorization}.
  class ApiKey
    BEARER = /\ABearer +(\S+)\s*\z/i

    # Looks at the headers alone: what stands in a query ends up in logs.
    #
    # @param request [Elah::Request]
    # @return [String, nil] the key of `X-Api-Key: KEY` or `Authorization: Bearer KEY`
    def self.offered(request) = request.header("x-api-key") || request.header("authorization")&.[](BEARER, 1)

    # @param key [String]
    # @raise [Elah::OptionError] when it is empty, as from a variable that is unset: an empty header would match it
    def initialize(key)
      raise OptionError, "An API key is empty. Leave the setting out if there is to be none." if key.empty?

      @digest = Digest::SHA256.digest(key).bytes.freeze
    end

    # @api private
    # @return [String] the SHA-256 digest, of which crates/elah-core/src/api_key.rs makes the same
    def digest = @digest.pack("C*")

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
