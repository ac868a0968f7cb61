# frozen_string_literal: true

module Items
  module Endpoints
    # Helpers shared by the endpoints: responses with stored documents.
    module Support
      JSON_TYPE = "application/json"
      TAG_RULE = { value: /\A[A-Za-z0-9_.:-]{1,64}\z/, message: "has 1 to 64 letters, digits, _, ., : and -" }.freeze
      # A random item must not be cached.
      RANDOM = Elah::HeaderSet.new({ "content-type" => JSON_TYPE, "cache-control" => "no-store" })
      PLAIN = Elah::HeaderSet.new({ "content-type" => JSON_TYPE })

      def store = Items.service.store

      def no_item!(uuid) = error!("There is no item with the uuid #{uuid}.", 404, code: "item_not_found")
    end
  end
end
