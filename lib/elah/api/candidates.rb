# frozen_string_literal: true

# The choice between endpoints that share a verb and a path and differ in their version.
module Elah
  class API
    # Tries its endpoints in the order of their definition.
    class Candidates
      # @param endpoints [Array<Class>] of {Endpoint}
      # @param not_found [NotFound]
      def initialize(endpoints, not_found)
        @endpoints = endpoints
        @not_found = not_found
      end

      # @return [Class]
      def last_endpoint = @endpoints.last

      # Responds with the first endpoint that serves the version. If there is none, the last one refuses the request; a single endpoint leaves the
      # path to other apps.
      def handle(request)
        chosen = @endpoints.find { |endpoint| endpoint.serves?(request) }
        return chosen.handle(request) if chosen

        @endpoints.size > 1 ? last_endpoint.handle(request) : @not_found.send_not_found(request)
      end
    end
  end
end
