# frozen_string_literal: true

require "uri" # Rack::Lint of Rack 2.2 uses it without loading it
require_relative "response_sender"
require_relative "environment"

module Elah
  module Rack
    # Adapter between the worker and a Rack app: each request becomes an environment, and the app's result a response.
    class Adapter
      # ID of the only route, which matches every method and path.
      ROUTE = 0

      # @param app [#call] a Rack 2 or Rack 3 app
      def initialize(app)
        @app = app
        @environment = Environment.builder
      end

      # @return [Elah::Router]
      def router = Router.new.tap { |router| router.mount("/", ROUTE) }

      # @return [Array<Integer>] empty: `rack.input` can be rewound, so a body is read before the app runs
      def streamed_routes = []

      # @return [Hash] empty
      def gates = {}

      # @return [Symbol] what `cancel_gone` is without a choice, see {EventLoop::Cancellation#cancels_gone=}. Other servers let an app go on whose
      #   client has left, between a charge and its record, for example.
      def cancels_gone = :begun

      # Calls the app and sends its response, in the fiber of the request.
      #
      # @param request [Elah::Request]
      # @raise [Exception] an exception of the app or the body
      # @raise [Elah::InvalidRackResponse] when the result is not a Rack response, or is one that Elah does not support
      def handle(request)
        env = @environment.build(request)
        begin
          status, headers, body = @app.call(env)
        rescue Exception => e # -- it is raised again
          raise ResponseSender.failed(request, e)
        end
        request.respond_to_rack(status, headers, body) or ResponseSender.new(request, status, headers, body).give
      end
    end
  end
end
