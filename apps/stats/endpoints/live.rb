# frozen_string_literal: true

require_relative "../live/page"
require_relative "../live/ticker"
require_relative "support"

module Stats
  module Endpoints
    # The live page: its three files, and its stream of events.
    class Live < Elah::API
      helpers Support

      helpers do
        # A browser that gets this challenge asks its user for the key: the password is the key, the name does not matter.
        def authorize_browser!
          key = service.api_key
          return if key.nil? || authorized?(key) || key.match?(Stats::Live::Page.password(request))

          error!("Send the API key as the password, or as Authorization: Bearer KEY or as X-Api-Key: KEY.", 401,
                 { "www-authenticate" => 'Basic realm="stats", charset="UTF-8"' }, code: "unauthorized")
        end
      end

      before { authorize_browser! }

      namespace "stats/live" do
        Stats::Live::Page::FILES.each do |path, file|
          desc "Sends #{file.name}"
          get(path, raw: true) { request.respond(200, file.headers, file.text) }
        end

        desc "Sends the figures of all workers once per second as Server-Sent Events"
        get :events do
          service.live.start
          broadcast service.live.broadcast
        end
      end
    end
  end
end
