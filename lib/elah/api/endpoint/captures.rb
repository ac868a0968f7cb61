# frozen_string_literal: true

# The conversion of the router's path parameters to those that the endpoint declares.
module Elah
  class API
    # For endpoints that share a route with one whose parameters have other names, at the same places.
    module RenamedCaptures
      # @param endpoint [Class] of {Endpoint}
      # @param names [Hash{String=>String}] the router's names and the endpoint's
      def self.apply(endpoint, names)
        endpoint.const_set(:CAPTURE_NAMES, names.freeze)
        endpoint.include(self)
      end

      private

      def _captures = super.transform_keys { |name| self.class::CAPTURE_NAMES.fetch(name, name) }
    end

    # For routes with `anchor: false`: the rest of the path is the parameter `path`, which may be empty.
    module UnanchoredCaptures
      PATTERN = "(/*path)"
      NOTHING = { "path" => "" }.freeze
      private_constant :NOTHING

      # @param route [Route]
      # @return [Boolean] whether the route matches everything below its path
      def self.needed_by?(route) = route.options[:anchor] == false && route.path.include?(PATTERN)

      private

      def _captures
        captures = super
        captures.key?("path") ? captures : captures.merge(NOTHING)
      end
    end

    # For routes that end in a parameter with a requirement: `:name` with /[^\/]+/ takes "a.json" whole, though the router
    # reads "json" as the format.
    module WholeCaptures
      LAST_NAME = %r{(?::|\{)(\w+)\}?\(\.(:format|\w+)\)\z}
      private_constant :LAST_NAME

      # @param route [Route]
      # @return [Boolean] whether the last parameter may contain what looks like a format
      def self.needed_by?(route)
        name = route.path[LAST_NAME, 1]
        !name.nil? && route.requirements.any? { |required, _| required.to_s == name }
      end

      private

      def _captures
        captures = super
        name, format = route.path.match(LAST_NAME).captures
        extension = format == ":format" ? captures["format"] : format
        return captures unless extension && @request.path.end_with?(".#{extension}")

        whole = "#{captures[name]}.#{extension}"
        whole.match?(/\A(?:#{_requirement(name)})\z/) ? captures.except("format").merge(name => whole) : captures
      end

      def _requirement(name) = route.requirements.find { |required, _| required.to_s == name }.last
    end
  end
end
