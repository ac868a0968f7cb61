# frozen_string_literal: true

# The parser of query strings and forms: invalid ones become 400.
module Elah
  class API
    # Parses forms and query strings.
    module FormParameters
      # @param text [String]
      # @param semicolons [Boolean] whether they separate parameters too: in a query, as with Rack 2.2, and not in a body
      # @return [Hash{String=>Object}]
      # @raise [Exceptions::InvalidParameters] 400
      def self.parse(text, semicolons: true)
        Form.parse(text, params_max: Elah.config.params_max, depth_max: Elah.config.param_depth_max, semicolons: semicolons)
      rescue Form::ParseError => e
        raise Exceptions::InvalidParameters, e.message
      end

      # @param body [String]
      # @param content_type [String] with its boundary
      # @return [Hash{String=>Object}]
      # @raise [Exceptions::InvalidParameters] 400
      def self.parse_multipart(body, content_type)
        Multipart.parse(body, content_type, parts_max: Elah.config.parts_max, depth_max: Elah.config.param_depth_max)
      rescue Multipart::ParseError => e
        raise Exceptions::InvalidParameters, e.message
      end

      # @param value [Object] of a multipart document. Its names are Strings; only the Hash of a file has symbols
      # @return [Array<Tempfile>]
      def self.files_in(value)
        case value
        when Hash then value.key?(:tempfile) ? [value[:tempfile]] : value.each_value.flat_map { |member| files_in(member) }
        when Array then value.flat_map { |element| files_in(element) }
        else []
        end
      end
    end
  end
end
