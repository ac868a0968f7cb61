# frozen_string_literal: true

# The rules about the presence of a parameter: presence and allow_blank.
module Elah
  module Framework
    module Validators
      # `requires`: the parameter is there, be it nil.
      class PresenceValidator < Validator
        def _fault(name, values)
          :presence unless values.respond_to?(:key?) && values.key?(name)
        end

        private

        def _reported_as_missing?(_name, _values) = false
      end

      # `allow_blank: false`: the parameter is not blank. false is not blank.
      class AllowBlankValidator < Validator
        def _fault(name, values)
          return if option_value || !values.is_a?(Hash)

          value = values[name]
          :blank unless value == false || !Blank.blank?(value)
        end

        private

        # `{ value: false }` is a field, too, so `option_value` of the base class cannot tell.
        def option_value = @option.is_a?(Hash) ? @option[:value] : @option
      end
    end
  end
end
