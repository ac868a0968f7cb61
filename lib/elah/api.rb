# frozen_string_literal: true

# The class `Elah::API`, which an API such as `class Links < Elah::API` inherits, and its two entries for servers.
# It never loads Grape, ActiveSupport or Rack.
require_relative "."

module Elah
  # An HTTP API in Grape's vocabulary, compiled at boot. A subclass is a native app ({.handle}) and a Rack app ({.call}).
  # Only what an app names is a constant of this class. The other parts are in {Framework}, because in a class body Ruby looks
  # a name up in the superclass before it finds the app's own `Settings` or `Route` at the top level.
  #
  # @example
  #   class Hello < Elah::API
  #     format :json
  #     get(:hello) { { message: "hello" } }
  #   end
  class API
    require_relative "api/errors"
    require_relative "api/settings"
    require_relative "api/statuses"
    require_relative "api/headers"
    require_relative "api/params"
    require_relative "api/formats"
    require_relative "api/error_formats"
    require_relative "api/definition"
    require_relative "api/dsl/routing"
    require_relative "api/dsl/description"
    require_relative "api/dsl/formatting"
    require_relative "api/dsl/hooks"
    require_relative "api/dsl/rescuing"
    require_relative "api/dsl/admission"
    require_relative "api/gate"
    require_relative "api/endpoint"
    require_relative "api/versioning"
    require_relative "api/path"
    require_relative "api/route"
    require_relative "api/blueprint"
    require_relative "api/endpoint_class"
    require_relative "api/candidates"
    require_relative "api/mounted_app"
    require_relative "api/not_found"
    require_relative "api/rack_request"
    require_relative "api/dispatcher"
    require_relative "api/compiler"

    COMPILE_LOCK = Mutex.new
    private_constant :COMPILE_LOCK

    extend Framework::DSL::Routing
    extend Framework::DSL::Description
    extend Framework::DSL::Formatting
    extend Framework::DSL::Hooks
    extend Framework::DSL::Rescuing
    extend Framework::DSL::Admission

    class << self
      # Responds to one request of the native server.
      #
      # @param request [Elah::Request] its `route` is already set, or nil when no route matches
      # @return [void]
      def handle(request)
        (@elah_dispatcher || _dispatcher).handle(request)
      end

      # Responds to one Rack request, so that the class can be mounted in Rails or served by any Rack server.
      #
      # @param env [Hash{String=>Object}] the Rack environment
      # @return [Array(Integer, Hash{String=>Object}, #each)] the Rack response
      def call(env)
        (@elah_dispatcher || _dispatcher).call(env)
      end

      # Compiles the API now instead of at the first request.
      #
      # @return [self]
      # @raise [Elah::API::DefinitionError] when the definition is contradictory
      def compile!
        _dispatcher
        self
      end

      # @return [Elah::Framework::Dispatcher] the compiled API: a server that never changes it calls it directly
      # @api private
      def compiled = _dispatcher

      # @return [Elah::Router] the compiled routes; {.handle} expects their IDs in `request.route`
      # @api private
      def router = _dispatcher.router

      # @return [Array<Integer>] IDs of the routes with `stream_body: true`
      # @api private
      def streamed_routes = _dispatcher.streamed_routes

      # @return [Hash{Elah::Framework::Gate=>Array<Integer>}] gates of {Framework::DSL::Admission#behind}, with the IDs of their routes
      # @api private
      def gates = _dispatcher.gates

      # @return [Array<Elah::Framework::Route>] the routes in the order of their definition, with those of mounted APIs
      def routes = _dispatcher.routes

      # @return [self] Grape has another class here, which APM agents ask for
      def base = self

      # The logger of this API and of its subclasses.
      #
      # @param logger [Object, nil] the new logger; nil returns the current one
      # @return [Object]
      def logger(logger = nil)
        return @elah_logger = logger if logger

        @elah_logger || (superclass.respond_to?(:logger) ? superclass.logger : default_logger)
      end

      private

      def _dispatcher
        COMPILE_LOCK.synchronize { @elah_dispatcher ||= Framework::Compiler.new(self).dispatcher }
      end

      # The definition has changed: the next request compiles it again.
      def changed! = @elah_dispatcher = nil

      def default_logger
        require "logger"
        @elah_logger = ::Logger.new($stdout)
      end
    end
  end
end
