# frozen_string_literal: true

# The parts of an endpoint that are fixed before its first request.
module Elah
  module Framework
    # The settings of one endpoint, in the form in which requests use them.
    class Blueprint
      # @return [Route]
      attr_reader :route
      # @return [Formats]
      attr_reader :formats
      # @return [#version_of, nil] for versions that are not in the path
      attr_reader :versioner
      # @return [Array<Validator>]
      attr_reader :validators
      # @return [Checklist] of these
      attr_reader :checklist
      # @return [DeclaredFilter] for all that is declared
      attr_reader :declared
      # @return [DeclaredFilter] for what the innermost `params` block declares
      attr_reader :own_declared
      # @return [Hash{Class=>Class}] models and their entities
      attr_reader :representations
      # @return [Hash] of rescue_from: backtrace, original_exception
      attr_reader :rescue_options
      # @return [Integer]
      attr_reader :default_error_status
      # @return [Array<Module>]
      attr_reader :helpers

      # @param settings [Settings]
      # @param definition [Definition]
      # @param parameters [Array<Parameters>] declarations that apply to the endpoint
      # @param route [Route]
      def initialize(settings, definition:, parameters:, route:)
        @definition = definition
        @route = route
        @formats = Formats.new(settings)
        @versioner = Versioning.for(settings, @formats)
        @representations = settings.merged(:representations)
        @default_error_status = settings[:default_error_status] || 500
        @helpers = settings.stack(:helpers)
        @problems = settings[:error_format] == :problem
        @options = !settings[:do_not_route_options]
        @head = !settings[:do_not_route_head]
        @hooks = DSL::Hooks::HOOKS.to_h { |hook| [hook, settings.stack(hook)] }
        settle_rescues(settings)
        settle_parameters(parameters, settings)
      end

      # @return [Proc, nil]
      def handler = @definition.block

      # @param name [Symbol] before, before_validation, after_validation, after or finally
      # @return [Array<Proc>]
      def hooks(name) = @hooks.fetch(name)
      def hooks?(name) = @hooks.fetch(name).any?

      # @return [Boolean] whether errors are problem documents
      def problems? = @problems

      # @return [Boolean] whether OPTIONS gets a response
      def options? = @options

      # @return [Boolean] whether GET routes respond to HEAD
      def head? = @head

      # Finds the handler of an exception.
      #
      # @param error [Exception]
      # @return [Proc, Symbol, nil] a block, the name of a helper, `:default`, or nil when no handler rescues it
      def rescue_handler(error)
        kind = error.class
        exact = @exact_rescues.find { |named, _| kind == named }
        return exact.last || :default if exact

        named = @rescues.find { |ancestor, _| kind <= ancestor }
        return named.last || :default if named
        return :default if own?(kind)

        @rescue_all_handler || :default if @rescues_all && kind <= StandardError && PASSING.none? { |passing| kind <= passing }
      end

      # @param format [Symbol, nil]
      # @return [#call]
      def error_formatter(format) = @error_formatters[format] || @default_error_formatter

      private

      # The framework's own exceptions have their own responses, unless `rescue_from :all` covers them.
      def own?(kind)
        return false unless kind <= Exceptions::Base

        kind == Exceptions::InvalidVersionHeader || @rescues_own || !@rescues_all
      end

      # Inner scopes come first; within a scope, the order of the definition counts.
      def settle_rescues(settings)
        @rescues = settings.stack_from_innermost(:rescue_handlers).flat_map(&:to_a)
        @exact_rescues = settings.stack_from_innermost(:exact_rescue_handlers).flat_map(&:to_a)
        @rescues_all = settings[:rescue_all]
        @rescues_own = settings[:rescue_own_exceptions]
        @rescue_all_handler = settings[:all_rescue_handler]
        @rescue_options = settings.merged(:rescue_options)
        @error_formatters = ErrorFormats::BUILT_IN.merge(settings.merged(:error_formatters))
        @default_error_formatter = settings[:default_error_formatter] || ErrorFormats::Text
      end

      def settle_parameters(parameters, settings)
        @validators = parameters.flat_map(&:validators)
        @checklist = Checklist.new(@validators)
        documentation = parameters.map(&:documentation).reduce({}, :merge)
        renamed = parameters.map(&:renamed).reduce({}, :merge)
        @declared = DeclaredFilter.new(parameters.flat_map(&:declared), documentation, renamed)
        own = settings.own_parameters&.declared || []
        @own_declared = DeclaredFilter.new(own, documentation, renamed)
      end
    end
  end
end
