# frozen_string_literal: true

# The dispatcher: finds the endpoint of a request.
module Elah
  module Framework
    # A compiled API.
    class Dispatcher
      # @return [Elah::Router]
      attr_reader :router
      # @return [Array<Route>]
      attr_reader :routes

      # @param router [Elah::Router]
      # @param routes [Array<Route>]
      # @param targets [Array<#handle>] by route id
      # @param not_found [NotFound]
      def initialize(router:, routes:, targets:, not_found:)
        @router = router
        @routes = routes
        @targets = targets
        @not_found = not_found
      end

      # @return [Array<Integer>] IDs of the routes whose handlers read the body in pieces: `stream_body: true`
      def streamed_routes = endpoints.select { |_, endpoint| endpoint.route.options[:stream_body] }.map(&:first).uniq

      # @return [Hash{Gate=>Array<Integer>}] IDs of the routes that each gate limits
      def gates
        bounded = endpoints.select { |_, endpoint| endpoint.route.gate }.uniq(&:first)
        bounded.group_by { |_, endpoint| endpoint.route.gate }.transform_values { |pairs| pairs.map(&:first) }
      end

      # @return [Symbol] what `cancel_gone` is without a choice, see {EventLoop::Cancellation#cancels_gone=}
      def cancels_gone = :safe

      # @param request [Elah::Request]
      # @return [String, nil] the path of its route, such as "/links/:code"; nil when no route of this API matches
      def route_of(request)
        target = @targets[request.route] if request.route
        target.endpoints.last.route.origin if target.respond_to?(:endpoints)
      end

      # Responds to a native request.
      def handle(request)
        id = request.route
        return @targets[id].handle(request) if id

        respond_to_unrouted(request, @router.match(request.request_method, request.path))
      rescue Elah::Router::BadPath => e
        @not_found.send_bad_path(request, e)
      end

      # Responds to a Rack request.
      #
      # @param env [Hash]
      # @return [Array(Integer, Hash, #each)]
      def call(env)
        request = RackRequest.new(env)
        found = @router.match(request.request_method, request.path)
        response = found&.first ? routed(request, found) : respond_to_unrouted(request, found)
        @not_found.cascades? ? response : without_cascade(response)
      rescue Elah::Router::BadPath => e
        @not_found.send_bad_path(request, e)
      end

      private

      # IDs of routes, each with an endpoint: one pair per version.
      def endpoints
        ids = @targets.each_index.select { |id| @targets[id].respond_to?(:endpoints) }
        ids.flat_map { |id| @targets[id].endpoints.map { |endpoint| [id, endpoint] } }
      end

      def routed(request, found)
        request.reroute(found)
        @targets[request.route].handle(request)
      end

      # @param found [Array(nil, Array<String>), nil] the verbs of the path, or nil
      def respond_to_unrouted(request, found)
        endpoint = found && neighbor(request.path, found.last)
        endpoint ? endpoint.refuse(request, found.last) : @not_found.send_not_found(request)
      end

      # The endpoint that responds to the path's other verbs: the last one defined there.
      def neighbor(path, verbs)
        verbs.filter_map { |verb| @router.match(verb, path)&.first }.flat_map { |id| @targets[id].endpoints }
             .max_by(&:position)
      end

      def without_cascade(response)
        status, headers, body = response
        [status, headers.reject { |name, _| name.casecmp?("x-cascade") }, body]
      end
    end
  end
end
