# frozen_string_literal: true

# Types whose values have their own shape: JSON documents and uploaded files.

module Elah
  module Framework
    module Types
      # Parsers for `type: JSON`, `type: Array[JSON]` and `type: File`.
      module Structured
        # An object, or a list of objects, as such or as JSON text.
        module Json
          def self.parse(value)
            return value if parsed?(value)

            return if value.nil? || (value.is_a?(String) && Blank.blank?(value))

            Params.wrap(Elah::JSON.parse_within(value, Elah.config.json_depth_max, Elah.config.json_names_max))
          end

          def self.parsed?(value) = value.is_a?(Hash) || JsonArray.parsed?(value)
        end

        # A list of objects; one object is a list of one.
        module JsonArray
          def self.parse(value)
            return value if parsed?(value)
            return INVALID if value.is_a?(Hash)

            document = Json.parse(value)
            document.nil? || document.is_a?(Array) ? document : [document]
          end

          def self.parsed?(value) = value.is_a?(Array) && value.all?(Hash)
        end

        # An uploaded file: the Hash of the multipart parser.
        module Upload
          def self.parse(value)
            return if value.nil?

            parsed?(value) ? value : INVALID
          end

          def self.parsed?(value) = value.is_a?(Hash) && value["tempfile"].is_a?(Tempfile)
        end
      end
    end
  end
end
