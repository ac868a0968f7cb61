# frozen_string_literal: true

require "digest/sha2"

module Links
  # One short link. Times are milliseconds since 1970, nil for none; `max_visits` is nil for any number; `title` is nil or
  # a text; `tags` an Array of texts.
  Link = Struct.new(:code, :target, :status, :not_before, :expires_at, :max_visits, :created_at, :updated_at, :title, :tags,
                    keyword_init: true)

  # What a link is, apart from how it is stored and shown.
  class Link
    STATUSES = [302, 301, 307, 308].freeze
    PERMANENT = [301, 308].freeze
    FINGERPRINT_BYTES = 16

    # @return [Boolean] whether a visit must look at the time or at a count before it may go on
    def limited? = !(not_before || expires_at || max_visits).nil?

    # @return [String] binary; links that redirect alike have it in common
    def fingerprint = Digest::SHA256.digest("#{status} #{target}").byteslice(0, FINGERPRINT_BYTES)

    # @return [Boolean] whether clients may keep the redirect
    def permanent? = PERMANENT.include?(status)

    # @param now [Integer] milliseconds
    def started?(now) = not_before.nil? || now >= not_before

    # @param now [Integer] milliseconds
    def expired?(now) = !expires_at.nil? && now >= expires_at
  end
end
