# frozen_string_literal: true

# The definition of "blank".
module Elah
  module Framework
    # nil, false, white space and empty collections are blank.
    module Blank
      # It does not go back over the spaces of a text that is not blank.
      BLANK_TEXT = /\A[[:space:]]*+\z/
      private_constant :BLANK_TEXT

      # @return [Boolean]
      def self.blank?(value)
        case value
        when nil, false then true
        when String then value.empty? || BLANK_TEXT.match?(value)
        else value.respond_to?(:empty?) && value.empty?
        end
      end
    end
  end
end
