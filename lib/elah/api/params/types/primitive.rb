# frozen_string_literal: true

# The coercion of single values to Ruby's own types. nil stays nil, and an empty string is nil for all but String.
module Elah
  module Framework
    module Types
      # One coercer per built-in class. Lenient ones read text; strict ones only check.
      module Primitive
        TRUE_TEXTS = %w[1 on On ON t true True TRUE T y yes Yes YES Y].freeze
        FALSE_TEXTS = %w[0 off Off OFF f false False FALSE F n no No NO N].freeze
        BOOLEANS = TRUE_TEXTS.to_h { |text| [text, true] }.merge(FALSE_TEXTS.to_h { |text| [text, false] }).freeze

        # Maximum length of an integer: time per digit grows with their number, and ten million digits would take seconds.
        INTEGER_BYTES_MAX = 1000

        # @return [Object] the first value that is not nil, else INVALID
        OR_INVALID = ->(value) { value.nil? ? INVALID : value }

        # Wraps a coercion so that nil and "" become nil.
        def self.absent_as_nil(&coercion)
          ->(value) { value.nil? || value == "" ? nil : coercion.call(value) }
        end

        # Accepts instances, reads text with the class's `parse`.
        def self.parsed
          absent_as_nil do |value|
            type = yield
            next value if value.is_a?(type)

            value.respond_to?(:to_str) ? type.parse(value) : INVALID
          rescue ArgumentError, RangeError
            INVALID
          end
        end

        def self.integer(value)
          case value
          when Integer then value
          when String then (Integer(value, 10, exception: false) if value.bytesize <= INTEGER_BYTES_MAX) || INVALID
          else OR_INVALID.call(Integer(value, exception: false))
          end
        rescue FloatDomainError
          INVALID
        end

        def self.float(value)
          number = Float(value, exception: false)
          number&.finite? ? number : INVALID
        end

        def self.decimal(value) = Float(value, exception: false) ? value.to_d : INVALID

        def self.number(value)
          return value if value.is_a?(Numeric)

          whole = integer(value)
          whole == INVALID ? float(value) : whole
        end

        def self.boolean(value)
          return value if true == value || false == value

          OR_INVALID.call(BOOLEANS[value.to_s])
        end

        # The library with the parser of a class, loaded when an API names the class.
        PARSERS = { "BigDecimal" => "bigdecimal/util", "Time" => "time" }.freeze

        # By the names of the classes: a class is loaded when an API names it.
        LENIENT = {
          "Integer" => absent_as_nil { |value| integer(value) },
          "Float" => absent_as_nil { |value| float(value) },
          "BigDecimal" => absent_as_nil { |value| decimal(value) },
          "Numeric" => absent_as_nil { |value| number(value) },
          Boolean.name => absent_as_nil { |value| boolean(value) },
          "TrueClass" => absent_as_nil { |value| boolean(value) == true || INVALID },
          "FalseClass" => absent_as_nil { |value| boolean(value) == false ? false : INVALID },
          "Date" => parsed { Date }, "DateTime" => parsed { DateTime }, "Time" => parsed { Time },
          "Symbol" => absent_as_nil { |value| value.respond_to?(:to_sym) ? value.to_sym : INVALID },
          "String" => lambda do |value|
            case value
            when nil, String then value
            when Array, Hash then INVALID
            else value.to_s
            end
          end,
          "Hash" => ->(value) { value.nil? || value.is_a?(Hash) ? value : INVALID },
          "Array" => absent_as_nil { |value| value.is_a?(Array) ? value : INVALID },
          "Set" => absent_as_nil { |value| value.is_a?(Array) || value.is_a?(Set) ? Set.new(value) : INVALID }
        }.freeze

        # @return [Boolean] whether the type is a built-in one
        def self.known?(type) = type.is_a?(Module) && LENIENT.key?(type.name)

        # @return [#call]
        def self.lenient(type)
          require(PARSERS[type.name]) if type.is_a?(Module) && PARSERS.key?(type.name)
          LENIENT.fetch(type.is_a?(Module) ? type.name : type) do
            raise DefinitionError, "No coercion is known for the type #{type.inspect}. Known are " \
                                   "#{LENIENT.keys.join(', ')}, JSON, File, and classes with a `parse(value)`."
          end
        end

        # @return [#call]
        def self.strict(type)
          return ->(value) { value.nil? || true == value || false == value ? value : INVALID } if type == Boolean

          ->(value) { value.nil? || value.is_a?(type) ? value : INVALID }
        end
      end
    end
  end
end
