# frozen_string_literal: true

# The description of a route, for `elah routes`, documentation tools and `route` in a handler.
module Elah
  module Framework
    # An endpoint under one verb and one path.
    class Route
      # @return [String] "GET", or "*" for any
      attr_reader :request_method
      # @return [String] with its parameters, e.g. "/api/:version/links/:code(.:format)"
      attr_reader :path
      # @return [String, nil] as its verb has it, e.g. "/:code"; nil for a mounted app
      attr_reader :own_path
      # @return [String, Array<String>, nil]
      attr_reader :version
      # @return [String] e.g. "/links"
      attr_reader :namespace
      # @return [String, nil]
      attr_reader :prefix
      # @return [Hash{Symbol, String=>Regexp}] by parameter
      attr_reader :requirements
      # @return [Hash{String=>Object}] declared parameters, with those of the path as ""
      attr_reader :params
      # @return [Hash{Symbol=>Object}] values of `desc` and of the verb's options
      attr_reader :options
      # @return [Hash{Object=>Object}] values of `route_setting`
      attr_reader :settings
      # @return [Class<API>] the API whose class body defines it
      attr_reader :api
      # @return [Array(String, Integer), nil] the file and the line of its block
      attr_reader :source_location
      # @return [Gate, nil] limit for its running requests
      attr_reader :gate

      # @param attributes [Hash] by the names of the readers
      # @api private
      def initialize(**attributes)
        attributes.each { |name, value| instance_variable_set(:"@#{name}", value) }
        freeze
      end

      alias verb request_method

      # Where agents of APM services read the path.
      Pattern = Struct.new(:origin)
      private_constant :Pattern

      # @return [String] the path without its format, e.g. "/api/:version/links/:code"
      def origin = path.sub(%r{\(/?\.:?\w+\)\z}, "")

      # @return [#origin]
      def pattern = Pattern.new(origin)

      # @return [String, nil] text of `desc`
      def description = options[:description]

      # @return [String, nil]
      def detail = options[:detail]

      # @return [Object, nil] value of `success`
      def entity = options[:entity]

      # @return [Object, nil] value of `failure`
      def http_codes = options[:http_codes]

      # @return [Object, nil]
      def headers = options[:headers]

      # @return [String, nil]
      def summary = options[:summary]

      # @return [Object, nil]
      def tags = options[:tags]

      # @return [Object, nil]
      def deprecated = options[:deprecated]

      # @return [Object, nil]
      def hidden = options[:hidden]
    end
  end
end
