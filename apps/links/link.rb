# frozen_string_literal: true

require "digest/sha2"

module Links
  # One short link. Times are milliseconds since 1970, nil for none; `max_visits` is nil for no limit; `title` is nil or a String;
  # `tags` an Array of Strings.
  Link = Struct.new(:code, :target, :status, :not_before, :expires_at, :max_visits, :created_at, :updated_at, :title, :tags,
                    keyword_init: true)

  # The rules of a link, without its storage and presentation.
  class Link
    STATUSES = [302, 301, 307, 308].freeze
    PERMANENT = [301, 308].freeze
    FINGERPRINT_BYTES = 16

    # @return [Boolean] whether a visit must check the time or a count
    def limited? = !(not_before || expires_at || max_visits).nil?

    # @return [String] binary; links that redirect alike have it in common
    def fingerprint = Digest::SHA256.digest("#{status} #{target}").byteslice(0, FINGERPRINT_BYTES)

    # @return [Boolean] whether clients may cache the redirect
    def permanent? = PERMANENT.include?(status)

    # @param now [Integer] milliseconds
    def started?(now) = not_before.nil? || now >= not_before

    # @param now [Integer] milliseconds
    def expired?(now) = !expires_at.nil? && now >= expires_at
  end
end
