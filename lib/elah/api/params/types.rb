# frozen_string_literal: true

# The coercer of each declared type.
require_relative "../standard_library"

module Elah
  class API
    # The type of true and false. In a class body plain `Boolean` names it.
    class Boolean; end
  end

  module Framework
    Boolean = API::Boolean

    # Turns the `type:` of a parameter into an object whose `call` coerces a value.
    module Types
      # A coercer's result for a value that it cannot convert. message: used instead of "is invalid", or nil
      InvalidValue = Struct.new(:message)
      INVALID = InvalidValue.new.freeze

      require_relative "types/primitive"
      require_relative "types/collection"
      require_relative "types/structured"
      require_relative "types/custom"

      class << self
        # @param type [Class, Array, Set] the declared type
        # @param method [#call, #parse, nil] `coerce_with:`
        # @param strict [Boolean] whether a value must have the type already
        # @return [#call]
        # @raise [DefinitionError] when the type is unknown
        def coercer(type, method: nil, strict: false)
          return Custom::OneOf.new(type, method) if several?(type)

          parser = parser(type)
          return Custom::Parsed.new(parser, method) if method || custom?(parser)
          return Custom::CollectionOf.new(type) if collection_of_custom?(type)

          built_in(type, strict)
        end

        # @return [Boolean] whether an instance of the type is its own coercion
        def keeps?(type) = [String, Integer].any? { |kept| kept.equal?(type) }

        # @return [Boolean] whether a block of parameters may have this type
        def group?(type) = [Array, Hash].include?(type) || json?(type)

        # Compares names, so that the JSON library is not loaded for this check.
        #
        # @return [Boolean] whether the type is JSON or Array[JSON]
        def json?(type) = type.is_a?(Array) ? type.size == 1 && json?(type.first) : type.is_a?(Module) && type.name == "JSON"

        # @return [Boolean] whether the type is a list of alternatives
        def several?(type) = (type.is_a?(Array) || set?(type)) && type.size > 1

        # Does not load the class for this check: while it is not loaded, no type is a Set.
        #
        # @return [Boolean] whether the type is Set[T], or a set of alternatives
        def set?(type) = !Object.autoload?(:Set) && type.is_a?(Set)

        # @return [#parse] the parser of a type with its own shape; else the type
        def parser(type)
          return type.is_a?(Array) ? Structured::JsonArray : Structured::Json if json?(type)

          upload?(type) ? Structured::Upload : type
        end

        private

        # By its name, so that Rack need not be loaded.
        def upload?(type) = type == ::File || (type.is_a?(Module) && type.name == "Rack::Multipart::UploadedFile")

        def built_in(type, strict)
          return Collection::List.new(coercer(type.first, strict: strict)) if type.is_a?(Array)
          return Collection::Unique.new(coercer(type.first, strict: strict)) if set?(type)

          strict ? Primitive.strict(type) : Primitive.lenient(type)
        end

        def custom?(type)
          !Primitive.known?(type) && type.respond_to?(:parse) && type.method(:parse).arity == 1
        end

        def collection_of_custom?(type)
          (type.is_a?(Array) || set?(type)) && custom?(parser(type.first))
        end
      end
    end
  end
end
