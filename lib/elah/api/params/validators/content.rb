# frozen_string_literal: true

# The rules about the content of a parameter: regexp and same_as.
module Elah
  module Framework
    module Validators
      # `regexp:` holds for the text of the value, or of each value of a list.
      class RegexpValidator < Validator
        def _fault(name, values)
          return unless values.is_a?(Hash) && values.key?(name)

          list = values[name].is_a?(Array) ? values[name] : [values[name]]
          :regexp unless list.all? { |value| value.nil? || value.to_s.match?(option_value) }
        rescue Encoding::CompatibilityError # bytes, and letters outside ASCII
          :regexp
        end
      end

      # `same_as:` another parameter of the same scope.
      class SameAsValidator < Validator
        def _fault(name, values)
          return if !values.is_a?(Hash) || values[name] == values[option_value.to_s]

          Messages.text(:same_as, parameter: option_value)
        end

        private

        def _fault_code(_message) = Messages.code(:same_as)
      end
    end
  end
end
