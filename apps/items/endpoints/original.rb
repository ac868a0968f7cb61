# frozen_string_literal: true

require_relative "../errors"
require_relative "../slots"
require_relative "support"

module Items
  module Endpoints
    # The original's routes: the same items, each response wrapped as `{"success": true, "data": ...}`.
    class Original < Elah::API
      # Items of a list.
      PAGE_SIZE = 100

      format :json
      helpers Support
      rescue_from(NoItems) { |e| error!(e.message, 404, { "cache-control" => "no-store" }, code: "no_items") }

      helpers do
        # @param data [String] JSON
        # @param headers [Elah::HeaderSet]
        def envelop(data, headers = Support::PLAIN) = request.respond(200, headers, %({"success":true,"data":#{data}}))
      end

      namespace "v1/items" do
        desc "Draws an item, like /items/random"
        get(:random, raw: true) { envelop(Items.service.draw.one, Support::RANDOM) }

        desc "The first items"
        get(raw: true) { envelop("[#{store.page(after: 0, limit: PAGE_SIZE, scope: Slots::ALL).first.join(',')}]") }

        desc "Shows an item"
        get ":uuid", raw: true do
          uuid = request.route_param("uuid")
          envelop(store.find(uuid) || no_item!(uuid))
        end
      end

      desc "Reports that the store responds, like /readyz"
      get :servicehealth, raw: true do
        Elah::Store.check_ready
        envelop(%({"status":"ready","items":#{store.size}}))
      end
    end
  end
end
