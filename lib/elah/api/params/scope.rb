# frozen_string_literal: true

# One level of a parameter declaration: its place in the request, whether it applies, how its names are written.
module Elah
  module Framework
    # The root of a `params` block, a nested group (`element` set), or a block at the same level (`given`, `with`).
    class Scope
      include Statements
      include Attributes

      NO_INDICES = [].freeze

      # @return [Array] names, and hashes of name => nested array, in the order of their declaration
      # @api private
      attr_reader :declared

      # @param parameters [Parameters] collects the declarations
      # @param parent [Scope, nil]
      # @param element [Symbol, nil] the parameter that the group is in
      # @param type [Class, Array, nil] Hash, Array, JSON or Array[JSON]
      # @param optional [Boolean]
      # @param dependencies [Array<Symbol, Hash>, nil] of `given`
      # @param shared_options [Hash] of `with`
      # @api private
      def initialize(parameters, parent: nil, element: nil, type: Hash, optional: false, dependencies: nil,
                     shared_options: {}, &block)
        @parameters = parameters
        @parent = parent
        @element = element&.to_s
        @type = type
        @optional = optional
        @dependencies = dependencies
        @shared_options = shared_options
        @declared = []
        instance_eval(&block) if block
        @parent.declare(element.to_sym => @declared) if nested?
      end

      # @return [Boolean] whether it is the outermost level
      def root? = @parent.nil?

      # @return [Boolean] whether it is a group
      def nested? = !@parent.nil? && !@element.nil?

      # @return [Boolean]
      def optional? = @optional

      # @return [Boolean] whether each value of the group is an element of a list, named by its index
      def list? = @type == Array

      # Yields the values of this level, once for the root and once per element of each list above, with the indices of
      # these elements. A level that does not apply (absent and optional, or its `given` not met) yields nothing.
      #
      # @param params [Params] of the request
      # @yieldparam values [Object] the value where the level expects a Hash
      # @yieldparam indices [Array<Integer>] outermost first
      def each(params, &block)
        return yield(params, NO_INDICES) if root?
        return each_nested(params, &block) if @element

        @parent.each(params) { |values, indices| yield(values, indices) if dependencies_met?(values) }
      end

      # @param name [String, Symbol]
      # @param indices [Array<Integer>] one per list on the way, outermost first
      # @return [String] the parameter as a client writes it, e.g. "items[0][name]"
      def full_name(name, indices = NO_INDICES)
        return name.to_s if root?
        return @parent.full_name(name, indices) unless @element
        return "#{@parent.full_name(@element, indices)}[#{name}]" unless list? && indices.any?

        "#{@parent.full_name(@element, indices[0...-1])}[#{indices.last}][#{name}]"
      end

      # @return [Array<String>] the elements above, outermost first
      def path
        return [] if root?

        @element ? @parent.path + [@element] : @parent.path
      end

      protected

      # Adds names, or a nested declaration, to their level.
      def declare(*names)
        root? || @element ? @declared.concat(names) : @parent.declare(*names)
      end

      def declared?(name)
        return @parent.declared?(name) unless root? || @element

        @declared.any? { |declared| (declared.is_a?(Hash) ? declared.keys.first : declared) == name }
      end

      private

      def each_nested(params)
        @parent.each(params) do |outer, indices|
          values = outer.is_a?(Hash) ? outer[@element] : nil
          next if @optional && nothing_in?(values)

          values ||= Params.new
          if list?
            each_element(values, indices) { |element, path| yield(element, path) } if values.is_a?(Array)
          elsif values.is_a?(Array)
            values.each { |element| yield(element, indices) }
          else
            yield(values, indices)
          end
        end
      end

      def each_element(list, indices, &block)
        list.each_with_index do |element, index|
          element.is_a?(Array) ? each_element(element, indices, &block) : yield(element, indices + [index])
        end
      end

      def nothing_in?(values)
        Blank.blank?(values) || (values.is_a?(Array) && values.all? { |element| Blank.blank?(element) })
      end

      def dependencies_met?(values)
        return true unless @dependencies
        return false unless values.is_a?(Hash)

        @dependencies.all? do |dependency|
          next !Blank.blank?(values[dependency]) unless dependency.is_a?(Hash)

          name, condition = dependency.first
          condition.call(values[name])
        end
      end
    end
  end
end
