# frozen_string_literal: true

# Types of the app (a class with `parse`, `coerce_with:`) and choices between types.
module Elah
  module Framework
    module Types
      # Coercers made of the app's own code. What it raises means that the value is invalid.
      module Custom
        # A class with `parse(value)`, or a built-in type with `coerce_with:`.
        class Parsed
          # @param type [Class, Module, Array, Set]
          # @param method [#parse, #call, nil]
          def initialize(type, method = nil)
            parser = method || type
            @parse = parser.respond_to?(:parse) ? parser.method(:parse) : parser
            @check = check(type)
          end

          def call(value)
            coerced = @parse.call(value)
            return coerced if coerced.is_a?(InvalidValue)
            return INVALID unless coerced.nil? || @check.call(coerced)

            coerced
          end

          private

          def check(type)
            return type.method(:coerced?) if type.respond_to?(:coerced?)
            return type.method(:parsed?) if type.respond_to?(:parsed?)
            return type if type.respond_to?(:call)
            return ->(value) { list_of?(type, value) } if type.is_a?(Enumerable)

            type == Boolean ? ->(value) { true == value || false == value } : ->(value) { value.is_a?(type) }
          end

          def list_of?(type, value)
            return value.is_a?(type) unless type.is_a?(Enumerable)

            value.is_a?(Enumerable) && value.all? { |item| list_of?(type.first, item) }
          end
        end

        # `Array[T]` or `Set[T]` of a class with `parse`.
        class CollectionOf
          def initialize(type)
            @item = Parsed.new(Types.parser(type.first))
            @unique = Types.set?(type)
          end

          def call(value)
            coerced = value.map do |item|
              result = @item.call(item)
              return result if result.is_a?(InvalidValue)

              result
            end
            @unique ? Set.new(coerced) : coerced
          end
        end

        # `types: [A, B]`: the first type that accepts the value.
        class OneOf
          def initialize(types, method = nil)
            @method = method.respond_to?(:parse) ? method.method(:parse) : method
            @coercers = types.map do |type|
              Types.several?(type) ? Mixed.new(type, method) : Types.coercer(type, strict: !method.nil?)
            end
          end

          def call(value)
            value = @method.call(value) if @method
            @coercers.each do |coercer|
              coerced = coercer.call(value)
              return coerced unless coerced.is_a?(InvalidValue)
            end
            INVALID
          end
        end

        # `type: [A, B]`: a list whose elements may be of any of the types.
        class Mixed
          def initialize(types, method = nil)
            @method = method.respond_to?(:parse) ? method.method(:parse) : method
            @unique = Types.set?(types)
            @item = OneOf.new(types)
          end

          def call(value)
            return unless value.is_a?(Array)

            coerced = @method ? @method.call(value) : value.map { |item| @item.call(item) }
            return INVALID if coerced.any?(InvalidValue)

            @unique ? Set.new(coerced) : coerced
          end
        end
      end
    end
  end
end
