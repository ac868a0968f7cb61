# frozen_string_literal: true

# The conversion of the router's path parameters to those that the endpoint declares.
module Elah
  module Framework
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
    # reads "json" as the format. What a requirement takes is the router's to say: it gives up where Ruby's regular expressions go on for hours.
    class WholeCaptures < Module
      FORMAT = /\(\.(:format|\w+)\)\z/
      RESERVED = %r{[^\w\-.~!$&'()*+,;=:@]}n
      private_constant :FORMAT, :RESERVED

      class << self
        # @param route [Route]
        # @return [Boolean] whether the last parameter of a path may contain what looks like a format
        def needed_by?(route) = route.path.match?(FORMAT) && requirements(route).values.any?

        # @param route [Route]
        # @return [Hash{String=>Router, nil}] the parameters that may be the last of a path, the last one of the pattern first, each with a router
        #   that knows its requirement; nil for one without
        def requirements(route)
          last_names(route.path.sub(FORMAT, "")).to_h do |name|
            required = route.requirements.select { |key, _| key.to_s == name }
            [name, required.empty? ? nil : Router.new.tap { |router| router.add("*", "/:#{name}", 0, required) }]
          end
        end

        private

        # In `/:a(/:b(/:c))`: c, b and a.
        def last_names(pattern)
          names = []
          while pattern
            pattern = pattern.sub(/\)+\z/, "")
            names << pattern[/[:{](\w+)\}?\z/, 1]
            optional = pattern.rindex("(")
            pattern = optional && !pattern.index(")", optional) ? pattern[0...optional] : nil
          end
          names.compact
        end
      end

      # @param route [Route]
      def initialize(route)
        super()
        format = route.path[FORMAT, 1]
        requirements = WholeCaptures.requirements(route)
        define_method(:_captures) do
          captures = super()
          extension = format == ":format" ? captures["format"] : format
          name, requirement = requirements.find { |last, _| captures.key?(last) }
          next captures unless extension && requirement

          whole = "#{captures[name]}.#{extension}"
          sent = @_request.path.chomp("/").b
          last = sent[(sent.rindex("/") + 1)..].gsub(/%\h\h/) { |escape| [escape[1..]].pack("H2") }
          next captures unless last.end_with?(whole.b)

          sent = whole.b.gsub(RESERVED) { |byte| Kernel.format("%%%02X", byte.ord) }
          requirement.match("GET", "/#{sent}") ? captures.except("format").merge(name => whole) : captures
        end
        private :_captures
      end
    end
  end
end
