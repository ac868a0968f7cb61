# frozen_string_literal: true

require_relative "../errors"
require_relative "../schemas"

module Stats
  module Endpoints
    # Helpers shared by the endpoints: authorization and error responses.
    module Support
      include Elah::ApiKey::Authorization

      RETRY = { "retry-after" => "1" }.freeze
      UNAVAILABLE = [Elah::Sink::Failed, Elah::Sink::Closed, Elah::Sink::CannotOpen, Elah::Store::Error].freeze

      def service = Stats.service

      # Ends the request with 401 unless it has the API key, if one is set.
      def authorize! = service.api_key.nil? || super(service.api_key, realm: "stats")

      # Maps the errors of this app, its sink and its store to responses.
      #
      # @param api [Class]
      def self.rescue_errors(api)
        api.rescue_from(Refused) { |e| error!(e.message, e.status, Support.cors(request), code: e.code) }
        api.rescue_from(Elah::Sink::Full) { |e| error!(e.message, 503, { **RETRY, **Support.cors(request) }, code: "journal_full") }
        api.rescue_from(*UNAVAILABLE) { |e| error!(e.message, 503, RETRY, code: "store_unavailable") }
        api.rescue_from(Elah::Unavailable, Elah::Overloaded) { |e| error!(e.message, 503, RETRY, code: "destination_unavailable") }
        api.rescue_from(Elah::Sink::TooLarge) { |e| error!(e.message, 413, Support.cors(request), code: "event_too_large") }
        api.rescue_from(Elah::Sink::Rejected) do |e|
          error!([e.message, *Schemas.shown(e.reasons)].join(" "), 422, Support.cors(request), code: "event_rejected")
        end
      end

      # A page that may not read the response could not see the error.
      def self.cors(request) = Stats.service.cors.headers(request.header("origin"))
    end
  end
end
