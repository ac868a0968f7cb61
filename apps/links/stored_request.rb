# frozen_string_literal: true

require "digest/sha2"
require_relative "creation"

module Links
  # The data stored for a request with an Idempotency-Key. A repeated request makes no second link, and another request under the
  # same key is refused.
  class StoredRequest
    KEPT_SECONDS = 86_400
    KEY = /\A[\x21-\x7e]{1,255}\z/
    DIGEST_BYTES = 32

    # @return [String]
    attr_reader :key

    # @param key [String] that matches {KEY}
    # @param body [String]
    def initialize(key, body)
      @key = key
      @digest = Digest::SHA256.digest(body)
    end

    # @param code [String] of the link that the request led to
    # @return [String] the data to store
    def encode(code) = @digest + code

    # @param kept [String] the result of {encode} for the same key
    # @return [Creation::Outcome]
    def compare(kept)
      return Creation::Outcome.new(:mismatch) unless kept.byteslice(0, DIGEST_BYTES) == @digest

      Creation::Outcome.new(:repeated, kept.byteslice(DIGEST_BYTES..))
    end
  end
end
