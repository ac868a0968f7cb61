# frozen_string_literal: true

require "digest/sha2"
require_relative "api_key/authorization"

module Elah
  # A secret by which a client identifies itself. Only its digest is kept.
  #
  #   key = Elah::ApiKey.new(ENV.fetch("API_KEY"))
  #   key.match?(Elah::ApiKey.offered(request))
  #
  # An {Elah::API} requires one with {Authorization}.
  class ApiKey
    BEARER = /\ABearer +(\S+)\s*\z/i

    # Reads the headers only: the query ends up in logs.
    #
    # @param request [Elah::Request]
    # @return [String, nil] the key of `X-Api-Key: KEY` or `Authorization: Bearer KEY`
    def self.offered(request)
      key = request.header("x-api-key")
      key.nil? || key.empty? ? request.header("authorization")&.[](BEARER, 1) : key
    end

    # @param key [String]
    # @raise [Elah::OptionError] when it is nil or empty, as from an unset variable: an empty header would match an empty key
    # @raise [TypeError] when it is anything else than a String
    def initialize(key)
      raise OptionError, "The API key is nil: its setting or variable is not set." if key.nil?
      raise TypeError, "An API key must be a String, not #{key.class}." unless key.is_a?(String)
      raise OptionError, "The API key is empty. Leave the setting out if you want none." if key.empty?

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
