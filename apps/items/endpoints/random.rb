# frozen_string_literal: true

require_relative "../errors"
require_relative "support"

module Items
  module Endpoints
    # The draws, and their uniformity test.
    #
    # A draw of one item is the hot path of this app: a random number, a look-up, and a stored document that is sent unchanged.
    class Random < Elah::API
      NUMBER_MAX = 1000
      SEED_MAX = 2**64 - 1

      format :json
      helpers Support
      rescue_from(NoItems) { |e| error!(e.message, 404, { "cache-control" => "no-store" }, code: "no_items") }

      namespace :items do
        desc "Draws an item, or n of them; each has the same probability"
        params do
          optional :n, type: Integer, values: { value: 1..NUMBER_MAX, message: "is a number from 1 to #{NUMBER_MAX}" }, desc: "so many, in a list"
          optional :distinct, type: Boolean, default: true, desc: "none of them twice"
          optional :tag, type: String, regexp: Support::TAG_RULE, desc: "of those that have it"
          optional :seed, type: Integer, values: { value: 0..SEED_MAX, message: "is a number from 0 to #{SEED_MAX}" },
                          desc: "draws the same again from the same items"
        end
        get :random, raw: true do
          next Items.service.draw.respond(request, Support::RANDOM) unless request.query?

          tag = params["tag"] || Slots::ALL
          number = params["n"]
          documents = Items.service.draw.many(number || 1, tag: tag, distinct: params["distinct"], seed: params["seed"])
          request.respond(200, Support::RANDOM, number ? %({"items":[#{documents.join(',')}]}) : documents.first)
        end

        desc "Reports whether the draws of this process were uniform"
        get(:uniformity) do
          header "cache-control", "no-store"
          Items.service.tally.report
        end
      end
    end
  end
end
