# frozen_string_literal: true

# The statements that describe the next endpoint: desc, params, route_setting.
module Elah
  module Framework
    module DSL
      # desc, params and route_setting.
      module Description
        # Describes the next endpoint; {API.routes} has the description.
        #
        # @param text [String]
        # @param options [Hash{Symbol=>Object}] any fields; in the block form `detail "..."`, `success Entity`, `failure [[404, "..."]]`
        # @yieldreceiver [Object]
        # @return [void]
        def desc(text, options = {}, &block)
          fields = block ? options.merge(DescriptionFields.read(&block)) : options
          @elah_description = { description: text }.merge(fields)
        end

        # Declares the parameters of the next endpoint or namespace.
        #
        # @yieldreceiver [Scope]
        # @return [void]
        def params(&block)
          parameters = Parameters.new(named: _settings.merged(:named_params), &block)
          changed!
          @elah_layers.last.parameters << parameters
        end

        # Stores a custom value with the next endpoint, or reads it.
        #
        # @param key [Object]
        # @param value [Object, nil] nil reads it
        # @return [Object]
        def route_setting(key, value = nil)
          value.nil? ? @elah_route_settings[key] : @elah_route_settings[key] = value
        end
      end
    end

    # Reads the block form of `desc`: each statement names a field. A block may set other fields itself, in `@settings`.
    class DescriptionFields < BasicObject
      FIELDS = %i[summary description detail params entity http_codes named body_name headers hidden deprecated is_array
                  nickname produces consumes security tags].freeze
      ALIASES = { success: :entity, failure: :http_codes }.freeze

      # @return [Hash{Symbol=>Object}]
      def self.read(&block)
        fields = {}
        new(fields).instance_eval(&block)
        fields
      end

      def initialize(fields)
        @settings = fields
      end

      FIELDS.each { |field| define_method(field) { |*values| @settings[field] = values.size > 1 ? values : values.first } }
      ALIASES.each { |name, field| define_method(name) { |*values| __send__(field, *values) } }

      private

      def method_missing(name, *)
        ::Kernel.raise ::Elah::API::DefinitionError,
                       "#{name} is not a field of desc. The fields are #{(FIELDS + ALIASES.keys).join(', ')}."
      end

      def respond_to_missing?(*) = false
    end
  end
end
