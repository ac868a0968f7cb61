# frozen_string_literal: true

require_relative "link"

module Links
  # Owns how long clients may keep a redirect. A permanent one may be kept by everybody, but not past the link's expiry and
  # not for more than a day, so that a change or a deletion is seen by the next day. A temporary one is asked for each time,
  # so that each visit counts; one that is limited in number must not be kept at all.
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
