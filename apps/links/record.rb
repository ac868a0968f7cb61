# frozen_string_literal: true

require_relative "link"

module Links
  # Owns the bytes in which a link is stored, in two parts. The redirect is what a visit needs, and as short as can be: most
  # links redirect with 302 and have no limits, and of those it is the target itself, which begins with the h of http. Of
  # the others it is
  #
  #   0      kind: position of the status in Link::STATUSES, and LIMITED when the link has a limit
  #   1-24   only if it is limited: not_before, expires_at, max_visits (0: none), 8 bytes each
  #   then   the target
  #
  # The details are created_at and updated_at, 8 bytes each, then the title and the tags as lines.
  module Record
    LIMITED = 4
    KIND_MAX = 7
    LIMITS_BYTES = 24
    TIMES_BYTES = 16

    class << self
      # @param redirect [String]
      # @return [Boolean] whether it is the target itself, of a link without limits that redirects with 302
      def plain?(redirect) = redirect.getbyte(0) > KIND_MAX

      # @param link [Link]
      # @return [String] binary
      def redirect(link)
        return link.target.b if link.status == Link::STATUSES.first && !link.limited?

        status = Link::STATUSES.index(link.status)
        return [status].pack("C") << link.target.b unless link.limited?

        [status | LIMITED, link.not_before.to_i, link.expires_at.to_i, link.max_visits.to_i].pack("CQ>3") << link.target.b
      end

      # @param link [Link]
      # @return [String] binary
      def details(link)
        times = [link.created_at, link.updated_at].pack("Q>2")
        link.title || link.tags.any? ? times << [link.title, *link.tags].join("\n").b : times
      end

      # @param details [String] from {details}
      # @return [Integer]
      def created_at(details) = details.unpack1("Q>")

      # @param code [String]
      # @param redirect [String] from {redirect}
      # @return [Link] without its details
      def read_redirect(code, redirect)
        return new_link(code, Link::STATUSES.first, redirect) if plain?(redirect)

        kind = redirect.getbyte(0)
        return new_link(code, Link::STATUSES[kind], redirect.byteslice(1..)) if kind < LIMITED

        link = new_link(code, Link::STATUSES[kind & ~LIMITED], redirect.byteslice((1 + LIMITS_BYTES)..))
        link.not_before, link.expires_at, link.max_visits =
          redirect.unpack("xQ>3").map { |number| number unless number.zero? }
        link
      end

      # @param code [String]
      # @param redirect [String] from {redirect}
      # @param details [String] from {details}
      # @return [Link]
      def read(code, redirect, details)
        link = read_redirect(code, redirect)
        link.created_at, link.updated_at = details.unpack("Q>2")
        title, *link.tags = details.byteslice(TIMES_BYTES..).force_encoding(Encoding::UTF_8).split("\n")
        link.title = title unless title == ""
        link
      end

      private

      def new_link(code, status, target)
        Link.new(code: code, status: status, target: target.dup.force_encoding(Encoding::UTF_8))
      end
    end
  end
end
