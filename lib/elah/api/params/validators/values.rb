# frozen_string_literal: true

# The rules about the values that a parameter may have.
module Elah
  module Framework
    module Validators
      # `values:` an Array, a Range, a Proc that returns one (arity 0), or a Proc that checks a value.
      class ValuesValidator < Validator
        def initialize(names, option, *rest)
          super
          @values, @excepts, @judge = option.is_a?(Hash) ? option.values_at(:value, :except, :proc) : [option, nil, nil]
        end

        def _fault(name, values)
          return unless values.is_a?(Hash)

          value = values[name]
          return if value.nil? && !(@required && @scope.root?)
          return if value != false && @allow_blank && Blank.blank?(value)

          list = value.is_a?(Array) ? value : [value]
          return except_fault if @excepts && list.any? { |item| resolved(@excepts).include?(item) }

          :values unless among?(list) && (@judge.nil? || list.all? { |item| @judge.call(item) })
        end

        private

        def among?(list)
          values = resolved(@values)
          return true if values.nil?
          return list.all? { |item| values.call(item) } if values.is_a?(Proc)

          list.all? { |item| includes?(values, item) }
        rescue Problem, *PASSING # a database is down, or the request is cancelled: no fault of the value
          raise
        rescue StandardError
          false
        end

        # A range of times cannot be walked, so it covers; a range of strings is the strings in it.
        def includes?(values, item)
          values.is_a?(Range) && !values.begin.is_a?(String) ? values.cover?(item) : values.include?(item)
        end

        def resolved(values) = values.is_a?(Proc) && values.arity.zero? ? values.call : values
        def except_fault = _option_field(:except_message) ? @option[:except_message] : :except_values

        # `except_message:` wins over `message:`.
        def _fault_error(full_names, message)
          return super if message.is_a?(Symbol)

          Exceptions::Validation.new(params: full_names, message: message, code: _fault_code(:except_values))
        end
      end

      # `except_values:` an Array, a Range or a Proc that returns one.
      class ExceptValuesValidator < Validator
        def _fault(name, values)
          return unless values.is_a?(Hash) && values.key?(name)

          excepts = option_value
          excepts = excepts.call if excepts.is_a?(Proc)
          list = values[name].is_a?(Array) ? values[name] : [values[name]]
          :except_values if excepts && list.any? { |item| excepts.include?(item) }
        end
      end
    end
  end
end
