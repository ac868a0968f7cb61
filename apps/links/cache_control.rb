# frozen_string_literal: true

require_relative "link"

module Links
  # How long clients may cache a redirect. A permanent one may be cached by everybody, up to the link's expiry and for at most a
  # day, so that a change reaches everybody by the next day. A temporary one is revalidated each time, so that each visit counts.
  # A link with a limited number of visits must not be cached.
  module CacheControl
    PERMANENT_SECONDS = 86_400
    TEMPORARY = "private, max-age=0"
    PERMANENT = "public, max-age=#{PERMANENT_SECONDS}"
    NEVER = "no-store"

    # @param link [Link] that has not expired
    # @param now [Integer] milliseconds
    # @return [String]
    def self.for(link, now)
      return NEVER if link.max_visits
      return TEMPORARY unless link.permanent?
      return PERMANENT unless link.expires_at

      "public, max-age=#{[PERMANENT_SECONDS, (link.expires_at - now) / 1000].min}"
    end
  end
end
