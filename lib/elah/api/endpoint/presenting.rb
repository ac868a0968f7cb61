# frozen_string_literal: true

# `present`: the conversion of objects by entities.
module Elah
  module Framework
    # Mixed into {Endpoint}.
    module Presenting
      # Sets the body from an object, by the entity in `with:`, the one of `represent`, or the object's own `Entity`. `present :key, object` adds to
      # the existing body.
      #
      # @example
      #   present Link.all, with: LinkEntity, admin: true
      # @overload present(object, **options)
      #   @param object [Object]
      #   @param options [Hash{Symbol=>Object}] `with:`, `root:`, and any for the entity
      #   @return [Object] the body
      # @overload present(key, object, **options)
      #   @param key [Symbol]
      #   @param object [Object]
      #   @param options [Hash{Symbol=>Object}]
      #   @return [Object] the body
      def present(*arguments)
        options = arguments.size > 1 && _options?(arguments.last) ? arguments.pop.dup : {}
        key, object = arguments.size == 2 && arguments.first.is_a?(Symbol) ? arguments : [nil, arguments.first]
        entity = _entity_for(object, options.delete(:with))
        root = options.delete(:root)
        shown = entity ? entity.represent(object, **_embeds, **options) : object
        shown = { root => shown } if root
        body(_joined(shown, key, entity))
      end

      private

      # A Hash of another class, as Hashie::Mash, is an object to present.
      def _options?(argument)
        return false unless argument.is_a?(Hash)

        argument.instance_of?(Hash) || (argument.respond_to?(:extractable_options?) && argument.extractable_options?)
      end

      def _embeds = @_version ? { env: _lazy_env, version: @_version } : { env: _lazy_env }

      def _joined(shown, key, entity)
        return (@_body || {}).merge(key => shown) if key
        return shown unless entity && @_body
        raise ArgumentError, "Representation of type #{shown.class} cannot be merged." unless shown.respond_to?(:merge)

        @_body.merge(shown)
      end

      def _entity_for(object, entity)
        return entity if entity

        model = _model_of(object)
        named = model.ancestors.find { |ancestor| _blueprint.representations.key?(ancestor) }
        return _blueprint.representations[named] if named

        own = model.const_get(:Entity) if model.const_defined?(:Entity)
        own if own.respond_to?(:represent)
      end

      def _model_of(object)
        return object.klass if object.respond_to?(:klass)

        object.respond_to?(:first) ? object.first.class : object.class
      end
    end
  end
end
