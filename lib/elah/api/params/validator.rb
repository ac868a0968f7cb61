# frozen_string_literal: true

# Owns what all rules about parameters share: where they look, when they apply, how they report. Also the registry of
# rules by the name that `requires` and `optional` know them by.
module Elah
  class API
    # A rule about parameters. Subclass {Validator} for an app's own rule and define `validate_param!`; the class
    # `AlphaNumeric` is the option `alpha_numeric:`.
    #
    # @example
    #   class AlphaNumeric < Elah::API::Validator
    #     def validate_param!(name, params)
    #       fail_with(name, "must be letters and digits") unless params[name].match?(/\A\w+\z/)
    #     end
    #   end
    class Validator
      REGISTRY = {}
      private_constant :REGISTRY

      class << self
        # Makes the class known under a name.
        def register(name, validator = self) = REGISTRY[name.to_sym] = validator

        # @param name [Symbol]
        # @return [Class, nil]
        def named(name) = REGISTRY[name]

        # @return [Array<Symbol>]
        def known = REGISTRY.keys

        private

        def inherited(validator)
          super
          name = validator.name&.split("::")&.last or return
          register(name.delete_suffix("Validator").gsub(/([a-z\d])([A-Z])/, '\1_\2').downcase, validator)
        end
      end

      # @return [Array<String>] the names of the parameters in their scope
      attr_reader :names

      # @param names [Array<Symbol, String>]
      # @param option [Object] what the declaration gives the rule
      # @param required [Boolean] whether the rule holds for a parameter that is missing
      # @param scope [Scope]
      # @param allow_blank [Boolean, nil]
      # @param fail_fast [Boolean] whether a fault ends the validation
      def initialize(names, option, required:, scope:, allow_blank: nil, fail_fast: false)
        @names = names.map { |name| name.to_s.freeze }.freeze
        @option = option
        @required = required
        @scope = scope
        @allow_blank = allow_blank
        @fail_fast = fail_fast
        @at_root = scope.root?
      end

      def fail_fast? = @fail_fast

      # @return [Boolean] whether it never finds fault with a request that has none of its parameters
      def idle_without_names?
        @at_root && !@required && method(:validate).owner == Validator
      end

      # Appends what is wrong to `errors`.
      #
      # @param params [Params] all parameters of the request
      # @param errors [Array<Exceptions::Validation>]
      def validate(params, errors)
        return validate_level(params, Scope::NO_INDICES, errors) if @at_root

        @scope.each(params) do |values, indices|
          validate_level(values, indices, errors) unless @scope.optional? && empty?(values)
        end
      end

      # What is wrong with a parameter. Built-in rules override it; the app's own define `validate_param!` instead.
      #
      # @return [Symbol, String, Proc, Exceptions::Validation, nil]
      def fault(name, values)
        validate_param!(name, values)
        nil
      rescue Exceptions::Validation => e
        e
      end

      private

      def validate_level(values, indices, errors)
        @names.each do |name|
          next unless @required || (values.is_a?(Hash) && values.key?(name))

          message = fault(name, values)
          errors << fault_error([@scope.full_name(name, indices)], message) if message
        end
      end

      # For `validate_param!`: says what is wrong.
      #
      # @raise [Exceptions::Validation]
      def fail_with(name, message)
        raise Exceptions::Validation.new(params: [name.to_s], message: own_message || message)
      end

      # The option itself, or its `value:` in the form `{ value: ..., message: ... }`.
      def option_value = option_field(:value) ? @option[:value] : @option
      def option_field(key) = @option.is_a?(Hash) && @option.key?(key) && !@option[key].nil?
      def own_message = option_field(:message) ? @option[:message] : nil

      def fault_error(full_names, message)
        if message.is_a?(Exceptions::Validation)
          Exceptions::Validation.new(params: full_names, message: message.message, code: message.code)
        else
          Exceptions::Validation.new(params: full_names, message: own_message || message, code: fault_code(message))
        end
      end

      def fault_code(message) = Messages.code(message)
      def empty?(values) = values.respond_to?(:empty?) ? values.empty? : values.nil?
    end
  end
end
