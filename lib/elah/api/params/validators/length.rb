# frozen_string_literal: true

# The rule about the length of a text or list.
module Elah
  module Framework
    module Validators
      # `length: { min: 1, max: 5 }` or `length: { is: 3 }`, with `message:`. Bounds are characters, elements or keys.
      class LengthValidator < Validator
        BOUNDS = %i[min max is message].freeze

        def initialize(names, option, *rest)
          super
          unless option.is_a?(Hash) && (option.keys - BOUNDS).empty? && option.slice(:min, :max, :is).values.all?(Integer)
            raise DefinitionError, "length: accepts a Hash with the Integers min:, max: or is:, not #{option.inspect}."
          end
          raise DefinitionError, "length: accepts either is: or min: and max:." if option[:is] && (option[:min] || option[:max])

          @rule = rule
        end

        def _fault(name, values)
          return unless values.is_a?(Hash)

          value = values[name]
          return unless value.respond_to?(:length) && !fits?(value.length)

          Messages.text(@rule, **@option.slice(:min, :max, :is))
        end

        private

        def fits?(length)
          min, max, is = @option.values_at(:min, :max, :is)
          return length == is if is

          (min.nil? || length >= min) && (max.nil? || length <= max)
        end

        def rule
          return :length_is if @option[:is]
          return :length if @option[:min] && @option[:max]

          @option[:min] ? :length_min : :length_max
        end

        def _fault_code(_message) = Messages.code(:length)
      end
    end
  end
end
