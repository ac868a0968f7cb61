# frozen_string_literal: true

# The parser of query strings and forms: invalid ones become 400.
module Elah
  module Framework
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
      # @yieldparam tempfile [Tempfile] each file
      # @return [Hash{String=>Object}]
      # @raise [Exceptions::InvalidParameters] 400
      def self.parse_multipart(body, content_type, &block)
        config = Elah.config
        Multipart.parse(body, content_type, parts_max: config.parts_max, files_max: config.files_max, depth_max: config.param_depth_max, &block)
      rescue Multipart::ParseError => e
        raise Exceptions::InvalidParameters, e.message
      end
    end
  end
end
