# frozen_string_literal: true

require "uri" # Rack::Lint of Rack 2.2 uses it without loading it
require_relative "answer"
require_relative "environment"

module Elah
  module Rack
    # A Rack app as the worker calls it: each request becomes an environment, and what the app returns an answer.
    class Adapter
      # The id of the one route, which takes every method and path.
      ROUTE = 0

      # @param app [#call] a Rack 2 or Rack 3 app
      def initialize(app)
        @app = app
        @environment = Environment.builder
      end

      # @return [Elah::Router]
      def router = Router.new.tap { |router| router.mount("/", ROUTE) }

      # @return [Array<Integer>] none: `rack.input` can be rewound, so a body is read before the app runs
      def streamed_routes = []

      # @return [Hash] none
      def gates = {}

      # @return [Array] none
      def responders = []

      # Calls the app and answers, in the fiber of the request.
      #
      # @param request [Elah::Request]
      # @raise [Exception] what the app or the body raised
      # @raise [Elah::InvalidRackResponse] when what it returned is no Rack response, or one that Elah does not serve
      def handle(request)
        env = @environment.build(request)
        begin
          status, headers, body = @app.call(env)
        rescue Exception => e # -- it is raised again
          raise refused(request, e)
        end
        request.respond_to_rack(status, headers, body) or Answer.new(request, status, headers, body).give
      end

      private

      # An app that took the connection over and failed has nobody else who would close it.
      def refused(request, exception)
        request.env["rack.hijack_io"]&.close
        is_async = exception.is_a?(UncaughtThrowError) && exception.tag == :async
        exception = InvalidRackResponse.new("The app threw :async. #{Answer::NO_ASYNC}") if is_async
        Answer.new(request, nil, nil, nil).finish(exception)
        exception
      end
    end
  end
end
