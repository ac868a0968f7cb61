# frozen_string_literal: true

# The statements of a `params` block.
module Elah
  module Framework
    # The statements in `params do ... end` and in the groups below it.
    module Statements
      # Declares required parameters: `requires :name, :city, type: String`, or a group with a block.
      #
      # @overload requires(*names, **options, &block)
      #   @param names [Array<Symbol, String>] or `:all`/`:none` with `using:`
      #   @param options [Hash{Symbol=>Object}] type, types, coerce_with, values, except_values, regexp, length, default, as, allow_blank,
      #     same_as, fail_fast, message, desc, documentation, and the rules of the app's own
      #   @yieldreceiver [Scope]
      #   @return [void]
      def requires(*names, &block)
        options = names.last.is_a?(Hash) ? names.pop : {}
        return require_from(names.first, **options) if options[:using]

        presence = { value: true, message: options[:message] }
        options = @shared_options.merge(options).merge(presence: presence)
        raise_group_type(options[:type]) if block
        declare_parameters(names, options, optional: false, &block)
      end
      alias group requires

      # Declares optional parameters.
      #
      # @overload optional(*names, **options, &block)
      #   @param names [Array<Symbol, String>] or `:all`/`:none` with `using:`
      #   @param options [Hash{Symbol=>Object}] see {#requires}
      #   @yieldreceiver [Scope]
      #   @return [void]
      def optional(*names, &block)
        options = names.last.is_a?(Hash) ? names.pop : {}
        return allow_from(names.first, **options) if options[:using]

        options = @shared_options.merge(options)
        raise_group_type(options[:type]) if block
        declare_parameters(names, options, optional: true, &block)
      end

      # Sets common options for the parameters of the block: `with(type: Integer) { optional :a, :b }`.
      #
      # @param options [Hash{Symbol=>Object}] see {#requires}
      # @yieldreceiver [Scope]
      # @return [void]
      def with(**options, &block)
        Scope.new(@parameters, parent: self, type: @type, optional: false, shared_options: options, &block)
      end

      # Declares parameters that apply only when others are present, or meet a Proc's condition:
      # `given(:a) { ... }`, `given(kind: ->(kind) { kind == "x" }) { ... }`.
      #
      # @param dependencies [Array<Symbol, Hash{Symbol=>#call}>]
      # @yieldreceiver [Scope]
      # @return [void]
      # @raise [DefinitionError]
      def given(*dependencies, &block)
        dependencies.each do |dependency|
          name = dependency.is_a?(Hash) ? dependency.keys.first : dependency
          raise DefinitionError, "given names the parameter #{name}, which is not declared before it." unless declared?(name)
        end
        Scope.new(@parameters, parent: self, type: @type, dependencies: dependencies, &block)
      end

      # Includes parameters that a helper shares: `use :paging, per_page_max: 100`.
      #
      # @param names [Array<Symbol>]
      # @param options [Hash{Symbol=>Object}] for the helper's block
      # @return [void]
      # @raise [DefinitionError]
      def use(*names, **options)
        names.each do |name|
          block = @parameters.named.fetch(name) do
            raise DefinitionError, "Params :#{name} not found! Known are #{@parameters.named.keys.join(', ')}."
          end
          instance_exec(options, &block)
        end
      end
      alias use_scope use
      alias includes use

      # A rule about how many of the parameters a request may have.
      #
      # @param names [Array<Symbol>]
      # @param message [String, Symbol, nil]
      # @return [void]
      %i[mutually_exclusive exactly_one_of at_least_one_of all_or_none_of].each do |statement|
        rule = statement == :mutually_exclusive ? :mutual_exclusion : statement
        define_method(statement) do |*names, message: nil|
          add_validator(rule, names, { value: true, message: message })
        end
      end

      private

      def declare_parameters(names, options, optional:, &block)
        add_attributes(names, block && !options.key?(:type) ? options.merge(type: Array) : options)
        @parameters.rename(path + [names.first.to_s], options[:as]) if options[:as]
        return declare(*names) unless block

        Scope.new(@parameters, parent: self, element: names.first, type: options[:type] || Array, optional: optional,
                  &block)
      end

      # `requires :all, using: { name: { type: String } }, except: :city` and `requires :none, ...`.
      def require_from(which, using:, except: [], **)
        except = Array(except)
        required, optional = using.keys.partition { |name| (which == :all) ^ except.include?(name) }
        required.each { |name| requires(name, **using[name]) }
        optional.each { |name| optional(name, **using[name]) }
      end

      # `optional :all, using: ...` and `optional :none, using: ..., except: ...`.
      def allow_from(which, using:, except: [], **)
        names = which == :all ? using.keys : using.keys - Array(except)
        names.each { |name| optional(name, **using[name]) }
      end

      def raise_group_type(type)
        raise DefinitionError, "group type is required: add type: Array, Hash, JSON or Array[JSON]." if type.nil?
        raise DefinitionError, "group type must be Array, Hash, JSON or Array[JSON], not #{type}." unless Types.group?(type)
      end
    end
  end
end
