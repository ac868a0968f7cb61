# frozen_string_literal: true

require_relative "../accepting"
require_relative "../parameters"
require_relative "support"

module Stats
  module Endpoints
    # The routes for pages of other origins: an image of one transparent pixel, a target for `navigator.sendBeacon`, and preflight
    # requests.
    class Browsers < Elah::API
      format :json
      helpers Support, Accepting
      Parameters.accept_bodies(self)

      GIF = ["47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b"].pack("H*").freeze
      PICTURE = { "content-type" => "image/gif", "cache-control" => "no-store", "cross-origin-resource-policy" => "cross-origin" }.freeze
      PATHS = %w[stats stats/batch stats/beacon v1/:type].freeze

      helpers do
        # @return [Array(Hash, (String, nil))] the parameters of the query without the write key, and the key
        def keyed_query
          query = request.query? ? Parameters.of_query(request.query_string) : {}
          key = query.delete("key")
          [query, (key if key.is_a?(String))]
        end
      end

      desc "Records the parameters and responds with an image of one pixel"
      get "stats/pixel.gif", raw: true do
        params, key = keyed_query
        receipt = push("pixel", params, offered: key)
        request.respond(200, { **PICTURE, **response_headers(receipt) }, GIF)
      end

      desc "Records what navigator.sendBeacon sends: text or JSON"
      post "stats/beacon", raw: true do
        _, key = keyed_query
        params = Parameters.of(request, service.inflated_bytes_max)
        params.delete("key") if key
        receipt = push("beacon", params, offered: key)
        request.respond(204, response_headers(receipt), "")
      end

      PATHS.each do |path|
        desc "Responds to the preflight request of a browser"
        options path, raw: true do
          request.respond(204, { **CORS::PREFLIGHT, **cors }, "")
        end
      end
    end
  end
end
