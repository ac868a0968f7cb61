# frozen_string_literal: true

require "openssl"
require_relative "errors"

module Leaderboards
  InvalidToken = Refused.with(401, "invalid_token")
  ExpiredToken = Refused.with(401, "expired_token")

  # The tokens by which a client without a key may write the score of one member on one board, for a time: `EXPIRES.SIGNATURE`, an
  # HMAC-SHA256 over board, member and time.
  class Tokens
    SECRET_BYTES_MIN = 16
    TOKEN = /\A(\d{1,12})\.([\w-]{43})\z/

    # @param secret [String]
    # @param clock [#now] seconds since 1970
    def initialize(secret, clock)
      @secret = secret
      @clock = clock
    end

    # @param definition [Definition]
    # @param member [String]
    # @param seconds [Integer] for how long it holds
    # @return [Array(String, Integer)] the token, and when it expires
    def issue(definition, member, seconds)
      expires_at = @clock.now + seconds
      ["#{expires_at}.#{sign(definition, member, expires_at)}", expires_at]
    end

    # @param token [String]
    # @param definition [Definition]
    # @param member [String]
    # @raise [InvalidToken, ExpiredToken] unless it is one for this member of this board
    def check(token, definition, member)
      expires_at, signature = token.match(TOKEN)&.captures
      unless expires_at && OpenSSL.fixed_length_secure_compare(signature, sign(definition, member, expires_at.to_i))
        raise InvalidToken, "The token is not valid for this member of this leaderboard."
      end
      raise ExpiredToken, "The token has expired." if expires_at.to_i <= @clock.now
    end

    # Hides the secret.
    def inspect = "#<#{self.class}>"

    private

    # The length separates the two texts around it.
    def sign(definition, member, expires_at)
      text = "#{definition.key}\0#{member.bytesize}\0#{member}\0#{expires_at}"
      [OpenSSL::HMAC.digest("SHA256", @secret, text)].pack("m0").tr("+/", "-_").delete("=")
    end
  end
end
