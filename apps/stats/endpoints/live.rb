# frozen_string_literal: true

require_relative "../../live_page"
require_relative "../live/ticker"
require_relative "support"

module Stats
  module Endpoints
    # The live page: its three files, and its stream of events.
    class Live < Elah::API
      FILES = LivePage.read(File.expand_path("../live", __dir__)).freeze
      BASIC = /\ABasic +([A-Za-z0-9+\/=]+)\s*\z/i.freeze

      helpers Support

      helpers do
        # A browser that gets this challenge asks its user for the key: the password is the key, the name does not matter.
        def authorize_browser!
          key = service.api_key
          return if key.nil? || authorized?(key) || key.match?(basic_password)

          error!("Send the API key as the password, or as Authorization: Bearer KEY or as X-Api-Key: KEY.", 401,
                 { "www-authenticate" => 'Basic realm="stats", charset="UTF-8"' }, code: "unauthorized")
        end

        # @return [String, nil] the password of HTTP Basic
        def basic_password = request.header("authorization")&.[](BASIC, 1)&.unpack1("m")&.split(":", 2)&.last
      end

      before { authorize_browser! }

      namespace "stats/live" do
        FILES.each do |name, file|
          desc "Sends #{name}"
          get(name.delete_prefix("page.html"), raw: true) { request.respond(200, *file) }
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
