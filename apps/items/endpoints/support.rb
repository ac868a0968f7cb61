# frozen_string_literal: true

require_relative "../errors"

module Items
  module Endpoints
    # Owns what the endpoints share: the answer in documents that are ready, and what errors are to clients.
    module Support
      JSON_TYPE = "application/json"
      TAG_RULE = { value: /\A[A-Za-z0-9_.:-]{1,64}\z/, message: "has 1 to 64 letters, digits, _, ., : and -" }.freeze
      # A random item that a cache keeps is not random.
      RANDOM = Elah::HeaderSet.new({ "content-type" => JSON_TYPE, "cache-control" => "no-store" })
      PLAIN = Elah::HeaderSet.new({ "content-type" => JSON_TYPE })

      def store = Items.service.store

      def no_item!(uuid) = error!("There is no item with the uuid #{uuid}.", 404, code: "item_not_found")

      # Says what the errors of this app and of its store are to clients.
      #
      # @param api [Class]
      def self.rescue_errors(api)
        api.rescue_from(NoItems) { |e| error!(e.message, 404, { "cache-control" => "no-store" }, code: "no_items") }
        api.rescue_from(Elah::Store::Full) { |e| error!(e.message, 507, code: "store_full") }
        api.rescue_from(Elah::Store::Error) { |e| error!(e.message, 503, { "retry-after" => "1" }, code: "store_unavailable") }
      end
    end
  end
end
