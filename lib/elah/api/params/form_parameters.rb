# frozen_string_literal: true

# Owns how query strings and bodies of forms become hashes: broken ones are the client's fault.
module Elah
  class API
    # Parses what forms and query strings say.
    module FormParameters
      # @param text [String]
      # @return [Hash{String=>Object}]
      # @raise [Exceptions::InvalidParameters] 400
      def self.parse(text)
        Form.parse(text)
      rescue Form::ParseError => e
        raise Exceptions::InvalidParameters, e.message
      end

      # @param body [String]
      # @param content_type [String] with its boundary
      # @return [Hash{String=>Object}]
      # @raise [Exceptions::InvalidParameters] 400
      def self.parse_multipart(body, content_type)
        Multipart.parse(body, content_type)
      rescue Multipart::ParseError => e
        raise Exceptions::InvalidParameters, e.message
      end
    end
  end
end
