# frozen_string_literal: true

require_relative "../accepting"
require_relative "../parameters"
require_relative "support"

module Stats
  module Endpoints
    # Owns the two routes that take one event each: whatever comes is recorded, and the answer says how safe it is by then.
    class Collect < Elah::API
      format :json
      helpers Support, Accepting
      Parameters.accept_bodies(self)

      desc "Records the request"
      get "stats", raw: true, responder: -> { Stats.service.express&.responder(false) } do
        next if service.express&.take(request, false)

        accept(request.query? ? Parameters.of_query(request.query_string) : Parameters::NONE)
      end

      desc "Records the request with the parameters in its body"
      post "stats", raw: true, late_body: true, responder: -> { Stats.service.express&.responder(true) } do
        next if service.express&.take(request, true)

        read_body
        accept(Parameters.of(request, service.inflated_bytes_max))
      end
    end
  end
end
