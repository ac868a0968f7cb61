# frozen_string_literal: true

require_relative "../accepting"
require_relative "../parameters"
require_relative "support"

module Stats
  module Endpoints
    # The two routes for single events. Every request is recorded, and the response reports its durability.
    class Collect < Elah::API
      format :json
      helpers Support, Accepting
      Parameters.accept_bodies(self)

      desc "Records the request"
      get "stats", raw: true do
        accept(request.query? ? Parameters.of_query(request.query_string) : Parameters::NONE)
      end

      desc "Records the request with the parameters in its body"
      post "stats", raw: true, late_body: true do
        type = Parameters.media_type(request)
        read_body unless type == Parameters::JSON # other types may be refused
        accept(Parameters.of(request, service.inflated_bytes_max, type))
      end
    end
  end
end
