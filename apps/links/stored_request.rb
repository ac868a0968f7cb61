# frozen_string_literal: true

require "digest/sha2"
require_relative "creation"
require_relative "place"

module Links
  # The data stored for a request with an Idempotency-Key. A repeated request makes no second link, and another request under the
  # same key is refused.
  class StoredRequest
    KEPT_SECONDS = 86_400
    KEY = /\A[\x21-\x7e]{1,255}\z/
    DIGEST_BYTES = 32
    # Precedes the expiry and the place of a planned link. No code begins with it.
    PLANNED = "\0"

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

      Creation::Outcome.new(:repeated, kept.byteslice(DIGEST_BYTES..).force_encoding(Encoding::UTF_8))
    end

    # For stores without transactions. They keep the plan before they make the link. After a lost reply or a crash nobody knows whether the
    # link was made, so the next attempt makes the planned link and no other.
    #
    # @param link [Link] with its code
    # @return [String] the data to store
    def plan(link) = encode(PLANNED + [link.expires_at.to_i].pack("Q>") + Place.of(link))

    # @param kept [String] the result of {plan} or {encode} for the same key
    # @param link [Link] gets the code and the times of a planned link
    # @return [Creation::Outcome, nil] nil when the link is only planned
    def resume(kept, link)
      outcome = compare(kept)
      return outcome unless outcome.code&.start_with?(PLANNED)

      expires_at, link.created_at, code = outcome.code.unpack("xQ>2a*")
      link.expires_at &&= expires_at # expires_in counts from the first attempt
      link.code = code.force_encoding(Encoding::UTF_8)
      nil
    end
  end
end
