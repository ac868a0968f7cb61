# frozen_string_literal: true

# Owns the object that a handler runs in. One class per route is generated from it, one object per request.
require_relative "endpoint/input"
require_relative "endpoint/captures"
require_relative "endpoint/response"
require_relative "endpoint/presenting"
require_relative "endpoint/streaming"
require_relative "endpoint/halting"
require_relative "endpoint/finishing"
require_relative "cookies"

module Elah
  class API
    # What `self` is in handlers, hooks, helpers and rescue blocks. Methods that begin with an underscore are the
    # framework's own. It has no `initialize`: Ruby would enter its interpreter anew for it.
    class Endpoint
      include Input
      include Response
      include Presenting
      include Streaming
      include Halting
      include Finishing

      class << self
        # @return [Route]
        attr_accessor :route
        # @return [Integer] counts definitions
        attr_accessor :position
        # @return [Blueprint]
        attr_accessor :blueprint

        # @return [Array<String>] the verbs of its path, OPTIONS among them
        attr_accessor :verbs

        # Gives what every request reads the first places in its objects, where Ruby 3.1 finds also what is unset at once.
        def place_variables = allocate.instance_eval { @request = @_changed = @header = @_format = nil }

        # Answers a request.
        def handle(request) = new._call(request)

        # Answers a request whose verb the path does not have.
        #
        # @param verbs [Array<String>] those that it has
        def refuse(request, verbs) = new._refuse(request, verbs)

        # @return [Boolean] whether the request asks for a version of this endpoint, or for one that is refused here
        def serves?(request)
          blueprint.versioner&.version_of(request)
          true
        rescue Halt, Exceptions::Base => e
          !e.headers&.key?("x-cascade")
        end

        def last_endpoint = self
      end

      # @return [Elah::Request, RackRequest]
      attr_reader :request
      # @return [String, nil] the version that the request asked for
      attr_reader :version

      # @return [Route] the route of this request
      def route = _blueprint.route

      # @return what `route_setting` kept for this route
      def route_setting(key) = route.settings[key]

      # @return [#info] the logger of the API
      def logger = route.api.logger

      # Ruby puts this into the message of a NameError, which ends in the log: nothing that the request brought is in it.
      def inspect = "#<#{route.api} #{route.request_method} #{route.path}>"

      def _blueprint = self.class.blueprint
    end
  end
end
