# frozen_string_literal: true

# The base class of all rules about parameters: where they look, when they apply, how they report. Also the registry of rules by the names that
# `requires` and `optional` accept.
module Elah
  class API
    # A rule about parameters. Subclass {Validator} for an app's own rule and define `validate_param!`; the class `AlphaNumeric` is the option
    # `alpha_numeric:`. A rule that needs the whole request defines `validate(request)` instead. Methods and variables that begin with an underscore
    # belong to the framework.
    #
    # @example
    #   class AlphaNumeric < Elah::API::Validator
    #     def validate_param!(name, params)
    #       fail_with(name, "must be letters and digits") unless params[name].match?(/\A\w+\z/)
    #     end
    #   end
    class Validator
      REGISTRY = {}

      # Maximum number of reported faults of a request: a rule then stops at the next item of a list. Each fault costs as much as 20 items without
      # one.
      FAULTS_MAX = 1000
      private_constant :REGISTRY, :FAULTS_MAX

      class << self
        # Registers the class under a name.
        #
        # @param name [Symbol, String]
        # @param validator [Class<Validator>]
        # @return [void]
        def register(name, validator = self) = REGISTRY[name.to_sym] = validator

        # @param name [Symbol]
        # @return [Class<Validator>, nil]
        def named(name) = REGISTRY[name]

        # @return [Array<Symbol>]
        def known = REGISTRY.keys

        private

        # `IntegerGTZero` and `IntegerGTZeroValidator` are `integer_gt_zero`.
        def inherited(validator)
          super
          name = validator.name&.split("::")&.last or return
          words = name.gsub(/([A-Z]+)([A-Z][a-z])/, '\1_\2').gsub(/([a-z\d])([A-Z])/, '\1_\2')
          register(words.downcase.delete_suffix("_validator"), validator)
        end
      end

      # @return [Array<Symbol, String>] the parameters, as they are declared
      attr_reader :attrs
      # @return [Array<String>] their names in their scope
      # @api private
      attr_reader :_names

      # @param attrs [Array<Symbol, String>]
      # @param option [Object] the rule's option in the declaration
      # @param required [Boolean] whether the rule applies to a missing parameter
      # @param scope [#full_name]
      # @param opts [Array<Hash{Symbol=>Object}>] allow_blank: · fail_fast: whether a fault ends the validation
      def initialize(attrs, option, required, scope, *opts)
        @attrs = Array(attrs)
        @_names = @attrs.map { |name| name.to_s.freeze }.freeze
        @option = option
        @required = required
        @scope = scope
        @_is_at_root = scope.root?
        @_judges_missing = required && respond_to?(:validate_param!, true)
        flags = opts.first || {}
        @allow_blank = flags[:allow_blank]
        @fail_fast = flags[:fail_fast] || false
      end

      # @return [Boolean] whether a fault ends the validation
      def fail_fast? = @fail_fast

      # @return [Boolean] whether it accepts every request that has none of its parameters
      # @api private
      def _idle_without_names? = @_is_at_root && !@required && method(:_check).owner == Validator

      # Appends the faults to `errors`.
      #
      # @param params [Framework::Params] all parameters of the request
      # @param errors [Array<Exceptions::Validation>]
      # @param _endpoint [Framework::Endpoint, nil]
      # @return [void]
      # @api private
      def _check(params, errors, _endpoint = nil)
        return _validate_level(params, Framework::Scope::NO_INDICES, errors) if @_is_at_root

        @scope.each(params) do |values, indices|
          break if errors.size >= FAULTS_MAX

          _validate_level(values, indices, errors) unless @scope.optional? && _empty?(values)
        end
      end

      # Checks a whole request. An app's own rule may override it.
      #
      # @param request [Framework::RequestToValidate]
      # @return [void]
      # @raise [Exceptions::Validation, Exceptions::ValidationArrayErrors]
      def validate(request) = validate!(request.params)

      # Checks all parameters of a request. An app's own rule may override it.
      #
      # @param params [Framework::Params]
      # @return [void]
      # @raise [Exceptions::Validation, Exceptions::ValidationArrayErrors]
      def validate!(params)
        errors = []
        _check(params, errors)
        raise Exceptions::ValidationArrayErrors, errors unless errors.empty?
      end

      # The fault of a parameter. Built-in rules override it; the app's own define `validate_param!` instead.
      #
      # @param name [String]
      # @param values [Framework::Params, Object] what is no Params has no parameters
      # @return [Symbol, String, Proc, Exceptions::Validation, nil]
      # @api private
      def _fault(name, values)
        validate_param!(@attrs[@_names.index(name)], values) if values.is_a?(Hash)
        nil
      rescue Exceptions::Validation => e
        e
      end

      private

      def _validate_level(values, indices, errors)
        @_names.each do |name|
          next unless @required || (values.is_a?(Hash) && values.key?(name))

          message = _fault(name, values)
          errors << _fault_error([@scope.full_name(name, indices)], message) if message && !_reported_as_missing?(name, values)
        end
      end

      # Only the rule about presence reports that a required parameter is missing, and rules of the app's own may.
      def _reported_as_missing?(name, values) = !@_judges_missing && values.is_a?(Hash) && !values.key?(name)

      # For `validate_param!`: reports a fault.
      #
      # @api public
      # @param name [String, Symbol]
      # @param text [String, Symbol]
      # @return [noreturn]
      # @raise [Exceptions::Validation]
      def fail_with(name, text)
        raise Exceptions::Validation.new(params: [@scope.full_name(name)], message: message(text))
      end

      # For the app's own rules: the declaration's `message:`, or else another.
      #
      # @api public
      # @param default [String, Symbol, nil]
      # @return [String, Symbol, Proc, nil]
      def message(default = nil) = _own_message || default

      # The option itself, or its `value:` in the form `{ value: ..., message: ... }`.
      #
      # @api public
      # @return [Object]
      def option_value = _option_field(:value) ? @option[:value] : @option
      def _option_field(key) = @option.is_a?(Hash) && @option.key?(key) && !@option[key].nil?
      def _own_message = _option_field(:message) ? @option[:message] : nil

      # An exception that a rule has raised itself has its parameters' names.
      def _fault_error(full_names, message)
        return message if message.is_a?(Exceptions::Validation)

        Exceptions::Validation.new(params: full_names, message: _own_message || message, code: _fault_code(message))
      end

      def _fault_code(message) = Framework::Messages.code(message)
      def _empty?(values) = values.respond_to?(:empty?) ? values.empty? : values.nil?
    end
  end

  module Framework
    Validator = API::Validator
  end
end
