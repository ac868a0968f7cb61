# frozen_string_literal: true

require_relative "codes/custom"
require_relative "fields"

module Links
  # An order for a new link. `link.code` is nil until a code is chosen; `reuse` allows an existing link with the same redirect;
  # `visits` is the count from another service; `request` is a StoredRequest or nil.
  Order = Struct.new(:link, :custom, :reuse, :visits, :request, keyword_init: true) do
    alias_method :custom?, :custom
    alias_method :reuse?, :reuse
  end

  # Parses an order from a client's fields.
  class Order
    VISITS = (0..(2**53)).freeze

    class << self
      # @param given [Hash{String=>Object}] fields by name
      # @param own [Array<Targets::Authority>] where no target may lead
      # @param now [Integer] milliseconds since 1970
      # @param request [StoredRequest, nil]
      # @return [Order]
      # @raise [Invalid]
      def read(given, own:, now:, request: nil)
        link = new_link(given, own, now)
        raise Invalid.new("invalid_expiry", "expires_at must be in the future.") if link.expired?(now)

        new(link: link, custom: !link.code.nil?, reuse: given["find_if_exists"] == true, visits: 0, request: request)
      end

      # A link imported from another service: it may have expired, and keeps its age and its visits.
      #
      # @param given [Hash{String=>Object}] fields by name
      # @param own [Array<Targets::Authority>] where no target may lead
      # @param now [Integer] milliseconds since 1970
      # @param reuse [Boolean]
      # @return [Order]
      # @raise [Invalid]
      def read_imported(given, own:, now:, reuse:)
        link = new_link(given, own, now)
        link.created_at = Fields.time("created_at", given["created_at"]) || link.created_at
        visits = given["visits"] || 0
        unless visits.is_a?(Integer) && VISITS.cover?(visits)
          raise Invalid.new("invalid_visits", "visits must be a whole number from #{VISITS.begin} to #{VISITS.end}.")
        end

        new(link: link, custom: !link.code.nil?, reuse: reuse, visits: visits)
      end

      private

      def new_link(given, own, now)
        raise Invalid.new("invalid_target", "A link needs a target.") if given["target"].nil?

        link = Link.new(status: Link::STATUSES.first, created_at: now, tags: [])
        link.code = Codes::Custom.check(given["code"]) unless given["code"].nil?
        Fields.new(given, own: own, now: now).apply(link)
      end
    end
  end
end
