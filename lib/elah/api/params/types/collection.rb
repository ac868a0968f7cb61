# frozen_string_literal: true

# The coercion of lists whose elements have one type: Array[Integer], Set[String].
module Elah
  module Framework
    module Types
      # Lists and sets of one type.
      module Collection
        # `Array[T]`. An empty string is an empty list, as forms send it.
        class List
          # @param element [#call] the coercer of an element
          def initialize(element)
            @element = element
          end

          def call(value)
            return if value.nil?
            return [] if value == ""
            return INVALID unless value.is_a?(Array)

            value.map do |item|
              coerced = item.nil? ? INVALID : @element.call(item)
              return coerced if coerced.is_a?(InvalidValue)

              coerced
            end
          end
        end

        # `Set[T]`.
        class Unique
          # @param element [#call] the coercer of an element
          def initialize(element)
            @element = element
          end

          def call(value)
            return value if value.is_a?(Set)
            return INVALID unless value.is_a?(Array)

            value.each_with_object(Set.new) do |item, all|
              coerced = @element.call(item)
              return coerced if coerced.is_a?(InvalidValue)

              all << coerced
            end
          end
        end
      end
    end
  end
end
