# frozen_string_literal: true

# The object in which a handler runs. Each route has a generated class, each request an instance.
require_relative "endpoint/input"
require_relative "endpoint/captures"
require_relative "endpoint/response"
require_relative "endpoint/presenting"
require_relative "endpoint/streaming"
require_relative "endpoint/halting"
require_relative "endpoint/finishing"
require_relative "cookies"

module Elah
  module Framework
    # `self` in handlers, hooks, helpers and rescue blocks. Methods and variables that begin with an underscore belong to the framework. It has no
    # `initialize`, because Ruby would enter its interpreter again for it.
    class Endpoint
      include Input
      include Response
      include Presenting
      include Streaming
      include Halting
      include Finishing

      class << self
        # @return [Route]
        # @api private
        attr_accessor :route
        # @return [Integer] position in the order of definitions
        # @api private
        attr_accessor :position
        # @return [Blueprint]
        # @api private
        attr_accessor :blueprint

        # @return [Array<String>] the verbs of its path, including OPTIONS
        # @api private
        attr_accessor :verbs

        # Assigns the variables that every request reads first. Ruby 3.1 then finds even unset ones quickly.
        # @api private
        def place_variables = allocate.instance_eval { @_request = @_changed = @_header = @_plain = nil }

        # Responds to a request.
        # @api private
        def handle(request) = new._call(request)

        # Responds to a request whose verb the path does not have.
        #
        # @param verbs [Array<String>] the path's verbs
        # @api private
        def refuse(request, verbs) = new._refuse(request, verbs)

        # @return [Boolean] whether the request asks for a version of this endpoint, or for one that this endpoint refuses
        # @api private
        def serves?(request)
          blueprint.versioner&.version_of(request)
          true
        rescue Halt, Exceptions::Base => e
          !e.headers&.key?("x-cascade")
        end

        # @api private
        def endpoints = [self]
      end

      # @return [Elah::Request, RackRequest]
      def request = @_request

      # @return [String, nil] the version in the request
      def version = @_version

      # @return [Route] the route of this request
      def route = _blueprint.route

      # @return [String] the path of the namespaces around the endpoint, e.g. "/links"
      def namespace = route.namespace

      # @return [Array<Route>] its route, as APM agents read it
      def routes = [route]

      # @return [Hash{Symbol=>Object}] Grape's options of an endpoint: the API that it belongs to, its paths below the namespace, and its verbs
      def options = { for: route.api, path: [route.own_path], method: [route.request_method], route_options: route.options }

      # @return [Proc, nil] the handler
      def source = _blueprint.handler

      # @param key [Object]
      # @return [Object] the value that `route_setting` stored for this route
      def route_setting(key) = route.settings[key]

      # @return [Object] the logger of the API
      def logger = route.api.logger

      # Ruby puts this text into the message of a NameError, which reaches the log. So it has no data of the request.
      def inspect = "#<#{route.api} #{route.request_method} #{route.path}>"

      def _blueprint = self.class.blueprint
    end
  end
end
