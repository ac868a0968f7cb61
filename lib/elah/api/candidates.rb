# frozen_string_literal: true

# The choice between endpoints that differ in their version, where the path does not have it.
module Elah
  module Framework
    # The endpoints of one route. Tries them in the order of their definition, then the less specific routes of the path: those of another version
    # may have another pattern.
    class Candidates
      # @return [Array<Class>] of {Endpoint}
      attr_reader :endpoints

      # @param endpoints [Array<Class>] of {Endpoint}
      # @param router [Elah::Router]
      # @param targets [Array<#handle>] by route id
      # @param not_found [NotFound]
      def initialize(endpoints, router, targets, not_found)
        @endpoints = endpoints
        @router = router
        @targets = targets
        @not_found = not_found
      end

      # Responds with the first endpoint that serves the version. If there is none, the last one refuses the request; a single endpoint, with no
      # other of the path, leaves it to apps that the server tries next.
      def handle(request)
        chosen = serving(request) || reroute(request, excluded = [request.route])
        return chosen.handle(request) if chosen

        targets = excluded.filter_map { |id| @targets[id] }
        refusing = targets.grep(Candidates).flat_map(&:endpoints)
        return @not_found.send_not_found(request) if refusing.size == 1 && targets.none? { |target| unversioned?(target) }

        refusing.max_by(&:position).handle(request)
      end

      # @return [Class, nil]
      def serving(request) = @endpoints.find { |endpoint| endpoint.serves?(request) }

      private

      def unversioned?(target) = target.is_a?(Class) && target < Endpoint

      # As in Grape, a route of any verb and a mounted app do not serve what endpoints of the path refuse.
      def served(target, request)
        return target.serving(request) if target.is_a?(Candidates)

        target if unversioned?(target) && target.route.request_method != "*"
      end

      # @param excluded [Array<Integer>] IDs of the routes that refuse the request, to which the others are added
      # @return [#handle, nil]
      def reroute(request, excluded)
        while (found = @router.match(request.request_method, request.path, excluded))&.first
          if (target = served(@targets[found.first], request))
            request.reroute(found, excluded)
            return target
          end
          excluded << found.first
        end
      end
    end
  end
end
