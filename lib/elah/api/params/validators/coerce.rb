# frozen_string_literal: true

# The rule about types: it replaces the parameter by its value in the declared type.
module Elah
  module Framework
    module Validators
      # `type:` and `types:`.
      class CoerceValidator < Validator
        # @param option [Hash] coercer: of {Types} · kept: the class whose instances it returns unchanged, or nil · message: or nil
        def initialize(names, option, *rest)
          super
          @coercer, @kept = option.values_at(:coercer, :kept)
        end

        def _fault(name, values)
          return :coerce unless values.is_a?(Hash)

          given = values[name]
          return if @kept && @kept === given

          coerced = coerce(given)
          return coerced.message || :coerce if coerced.is_a?(Types::InvalidValue)

          values[name] = coerced unless given.equal?(coerced)
          nil
        end

        private

        def coerce(value)
          @coercer.call(value)
        rescue Problem, *PASSING # a database is down, or the request is cancelled: no fault of the value
          raise
        rescue StandardError
          Types::INVALID
        end

        def _fault_code(_message) = Messages.code(:coerce)

        # A message of the type takes precedence over the declared one.
        def _fault_error(full_names, message)
          return super if message == :coerce

          Exceptions::Validation.new(params: full_names, message: message, code: _fault_code(message))
        end
      end
    end
  end
end
