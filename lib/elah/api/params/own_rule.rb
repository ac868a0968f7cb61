# frozen_string_literal: true

# Rules of the app: each request gets new instances of their classes, as under Grape, so that state of one request never reaches another.
module Elah
  module Framework
    # A declared rule of the app.
    # @api private
    class OwnRule
      # The framework's rules keep no state of a request: one instance serves all.
      BUILT_IN = Validators.constants.map { |name| Validators.const_get(name) }.freeze

      # @param kind [Class] of {Validator}
      # @return [Boolean] whether the class belongs to the app
      def self.own?(kind) = !BUILT_IN.include?(kind)

      # @return [Class] of {Validator}
      attr_reader :kind
      # @return [Array<String>]
      attr_reader :_names

      # @param kind [Class] of {Validator}
      # @param attrs [Array<Symbol, String>]
      # @param option [Object] the rule's option in the declaration
      # @param required [Boolean]
      # @param scope [Scope]
      # @param flags [Hash] allow_blank:, fail_fast:
      def initialize(kind, attrs, option, required, scope, flags)
        @kind = kind
        @arguments = [attrs, option, required, scope]
        @flags = flags
        settled = build
        @_names = attrs.map { |name| name.to_s.freeze }.freeze
        @fail_fast = settled.fail_fast?
        @is_idle_without_names = settled._idle_without_names? && %i[validate validate!].all? { |name| kind.instance_method(name).owner == Validator }
      end

      def fail_fast? = @fail_fast

      # @return [Boolean] whether it accepts every request that has none of its parameters
      def _idle_without_names? = @is_idle_without_names

      # Appends the faults to `errors`.
      #
      # @param params [Params] all parameters of the request
      # @param errors [Array<Exceptions::Validation>]
      # @param endpoint [Endpoint]
      def _check(params, errors, endpoint)
        build.validate(RequestToValidate.new(params, endpoint))
      rescue Exceptions::Validation => e
        errors << e
      rescue Exceptions::ValidationArrayErrors => e
        errors.concat(e.errors)
      end

      private

      def build
        *arguments, scope = @arguments
        @kind.new(*arguments, PlacedScope.new(scope), **@flags)
      end
    end

    # A scope as one instance of a rule sees it: it knows at which elements of lists the rule looks.
    # @api private
    class PlacedScope
      # @param scope [Scope]
      def initialize(scope)
        @scope = scope
        @indices = Scope::NO_INDICES
      end

      # @see Scope#each
      def each(params)
        @scope.each(params) do |values, indices|
          @indices = indices
          yield values, indices
        end
      end

      # @see Scope#full_name
      def full_name(name, indices = @indices) = @scope.full_name(name, indices)

      def root? = @scope.root?
      def nested? = @scope.nested?
      def optional? = @scope.optional?
      def required? = !@scope.optional?
      def list? = @scope.list?
      def path = @scope.path
    end

    # A request as a rule of the app sees it: that of the handler, with its parameters, headers, cookies and environment.
    class RequestToValidate
      # @return [Params]
      attr_reader :params

      # @api private
      # @param params [Params]
      # @param endpoint [Endpoint]
      def initialize(params, endpoint)
        @params = params
        @endpoint = endpoint
      end

      # @return [RequestHeaders]
      def headers = @endpoint.headers

      # @return [Cookies]
      def cookies = @endpoint.cookies

      # @return [Hash{String=>Object}] the Rack environment
      def env = @endpoint.env

      private

      def method_missing(name, ...) = @endpoint.request.public_send(name, ...)
      def respond_to_missing?(name, include_private = false) = @endpoint.request.respond_to?(name, include_private)
    end
  end
end
