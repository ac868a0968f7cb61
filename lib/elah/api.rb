# frozen_string_literal: true

# Owns the framework class: what `class Links < Elah::API` inherits, and the two entries by which servers reach it.
# It never loads Grape, ActiveSupport or Rack.
require_relative "../elah"

module Elah
  # An HTTP API in Grape's vocabulary, compiled at boot. A subclass is a native app ({.handle}) and a Rack app ({.call}).
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

    extend DSL::Routing
    extend DSL::Description
    extend DSL::Formatting
    extend DSL::Hooks
    extend DSL::Rescuing
    extend DSL::Admission

    class << self
      # Answers one request of the native server.
      #
      # @param request [Elah::Request] with its `route` already set by {.router}, or nil when no route fits
      def handle(request)
        (@dispatcher || dispatcher).handle(request)
      end

      # Answers one Rack request, so that the class can be mounted in Rails or served by any Rack server.
      #
      # @param env [Hash] the Rack environment
      # @return [Array(Integer, Hash, #each)] the Rack response
      def call(env)
        (@dispatcher || dispatcher).call(env)
      end

      # Does now, instead of at the first request, all that can be done before a request comes.
      #
      # @return [self]
      # @raise [Elah::API::DefinitionError] when the definition contradicts itself
      def compile!
        dispatcher
        self
      end

      # @return [Elah::API::Dispatcher] this API as it is compiled now: what a server that never changes it calls without a detour
      def compiled = dispatcher

      # @return [Elah::Router] the compiled routes; their ids are what {.handle} expects in `request.route`
      def router = dispatcher.router

      # @return [Array<Integer>] ids of the routes that were given `stream_body: true`
      def streamed_routes = dispatcher.streamed_routes

      # @return [Hash{Elah::API::Gate=>Array<Integer>}] what {DSL::Admission#behind} said, with the ids of the routes
      def gates = dispatcher.gates

      # @return [Array<Array(Integer, Object)>] ids of the routes with what their `responder:` answers plain requests with
      def responders = dispatcher.responders

      # @return [Array<Elah::API::Route>] the routes in the order of their definition, those of mounted APIs included
      def routes = dispatcher.routes

      # The logger of this API and of those that inherit from it.
      #
      # @param logger [#info, nil] the new logger, or nil to read it
      def logger(logger = nil)
        return @logger = logger if logger

        @logger || (superclass.respond_to?(:logger) ? superclass.logger : default_logger)
      end

      private

      def dispatcher
        COMPILE_LOCK.synchronize { @dispatcher ||= Compiler.new(self).dispatcher }
      end

      # The definition grew: the next request compiles it anew.
      def changed! = @dispatcher = nil

      def default_logger
        require "logger"
        @logger = ::Logger.new($stdout)
      end
    end
  end
end
