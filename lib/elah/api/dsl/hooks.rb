# frozen_string_literal: true

# The statements about code around handlers: helpers and the five hooks.
module Elah
  module Framework
    module DSL
      # helpers, before, before_validation, after_validation, after, finally.
      module Hooks
        HOOKS = %i[before before_validation after_validation after finally].freeze

        # Runs the block around every following endpoint of this scope.
        #
        # @yieldreceiver [Endpoint]
        # @return [void]
        HOOKS.each do |hook|
          define_method(hook) { |&block| _stack(hook, block) }
        end

        # Methods for the handlers of this scope, and shared parameters: `params(:paging) { ... }`.
        #
        # @param modules [Array<Module>]
        # @yieldreceiver [API::SharedParameters]
        # @return [void]
        def helpers(*modules, &block)
          modules << _helper_module(&block) if block
          modules.each do |helper|
            _stack(:helpers, helper)
            named = helper.instance_variable_get(API::SharedParameters::NAME)
            _stack(:named_params, named) if named
          end
        end

        private

        def _helper_module(&block)
          Module.new do
            extend API::SharedParameters
            class_eval(&block)
          end
        end
      end
    end
  end

  class API
    # `extend Elah::API::SharedParameters` in a helper module gives it `params(:name) { ... }`.
    module SharedParameters
      NAME = :@elah_named_params

      # Lets the module use the type {Boolean} as the body of an API does.
      # @api private
      def self.extended(helper)
        super
        helper.const_set(:Boolean, Boolean) unless helper.const_defined?(:Boolean, false)
      end

      # @param name [Symbol] the name for `use`
      # @yieldparam options [Hash{Symbol=>Object}] the options of `use`
      # @yieldreceiver [Framework::Scope]
      # @return [void]
      def params(name, &block)
        instance_variable_set(NAME, (instance_variable_get(NAME) || {}).merge(name => block))
      end
    end
  end
end
