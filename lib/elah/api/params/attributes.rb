# frozen_string_literal: true

# The conversion of a parameter's options to rules and documentation.
module Elah
  module Framework
    # Mixed into {Scope}.
    # @api private
    module Attributes
      # Options that are not rules.
      NOT_RULES = %i[type types coerce_with presence message desc description documentation fail_fast as].freeze
      # Rules that statements and other options create: they are not valid as options.
      MADE = %i[presence coerce group mutual_exclusion exactly_one_of at_least_one_of all_or_none_of].freeze
      private_constant :NOT_RULES, :MADE

      private

      # Presence first, then the type, then the other rules in the order of the declaration.
      def add_attributes(names, options)
        options = { type: options[:coerce] }.merge(options.except(:coerce)) if options.key?(:coerce)
        check_options(options)
        type = declared_type(options)
        document(names, options, type)
        add_validator(:presence, names, options[:presence], **flags(options)) if options[:presence]
        add_coercion(names, options, type)
        options.each do |rule, option|
          add_validator(rule, names, option, **flags(options)) unless NOT_RULES.include?(rule)
        end
      end

      def add_validator(rule, names, option, required: false, allow_blank: nil, fail_fast: false)
        kind = Validator.named(rule) or raise DefinitionError, unknown(rule)
        flags = { allow_blank: allow_blank, fail_fast: fail_fast }
        @parameters.validators <<
          (OwnRule.own?(kind) ? OwnRule.new(kind, names, option, required, self, flags) : kind.new(names, option, required, self, flags))
      end

      def unknown(rule)
        words = (NOT_RULES | Validator.known) - MADE
        "unknown validator: #{rule}.#{Options.did_you_mean(rule, words)} Known are #{words.sort.join(', ')}."
      end

      def add_coercion(names, options, type)
        return unless type

        method = options[:coerce_with]
        raise DefinitionError, "coerce_with disallowed for type: JSON." if method && Types.json?(type)

        mixed = options.key?(:type) && Types.several?(type)
        coercer = mixed ? Types::Custom::Mixed.new(type, method) : Types.coercer(type, method: method)
        kept = type if method.nil? && Types.keeps?(type)
        add_validator(:coerce, names, { coercer: coercer, kept: kept, message: type_option(options, :message) }, **flags(options))
      end

      def flags(options)
        allow_blank = options[:allow_blank]
        { required: options.key?(:presence), fail_fast: options[:fail_fast] || false,
          allow_blank: allow_blank.is_a?(Hash) ? allow_blank[:value] : allow_blank }
      end

      def declared_type(options)
        given = options[:type] || options[:types]
        given.is_a?(Hash) ? given[:value] : given
      end

      def type_option(options, key)
        given = options[:type] || options[:types]
        given.is_a?(Hash) ? given[key] : nil
      end

      def check_options(options)
        raise DefinitionError, ":type may not be supplied with :types." if options.key?(:type) && options.key?(:types)
        raise DefinitionError, "must supply type for coerce_with." if options[:coerce_with] && !declared_type(options)
        raise DefinitionError, "unknown validator: message." if options.key?(:message) && !options[:presence]

        check_lists(options)
        check_default(options)
        check_values(options)
      end

      # A String includes each of its parts, so it would allow or refuse them too.
      def check_lists(options)
        text = value_lists(options).find { |list| list.is_a?(String) } or return
        raise DefinitionError, "values: and except_values: need an Array, a Range or a Proc, not #{text.inspect}."
      end

      def check_default(options)
        default = options[:default]
        return if default.nil? || default.is_a?(Proc)

        values, excepts = value_lists(options)
        list = Array(default)
        if values && !list.all? { |item| values.include?(item) }
          raise DefinitionError, "default: #{default} is incompatible with values: #{values}."
        end
        return unless excepts && list.any? { |item| excepts.include?(item) }

        raise DefinitionError, "default: #{default} is incompatible with except: #{excepts}."
      end

      def check_values(options)
        type = declared_type(options)
        type = type.first if type.is_a?(Array) && type.size == 1
        return unless type.is_a?(Class) && type != Array

        value_lists(options).compact.each do |values|
          samples = values.is_a?(Range) ? [values.begin, values.end].compact : values
          next if samples.all? { |sample| type == Boolean ? [true, false].include?(sample) : sample.is_a?(type) }

          raise DefinitionError, "type: #{type} is incompatible with values: #{values}."
        end
      end

      # @return [Array(#include?, #include?)] the allowed and the refused values, nil where a Proc decides
      def value_lists(options)
        values, excepts = options.values_at(:values, :except_values)
        if values.is_a?(Hash)
          excepts ||= values[:except]
          values = values[:value]
        end
        excepts = excepts[:value] if excepts.is_a?(Hash)
        [values, excepts].map { |list| list.is_a?(Proc) ? nil : list }
      end

      def document(names, options, type)
        entry = { required: options.key?(:presence) }
        entry[:type] = type.to_s if type
        description = options[:desc] || options[:description]
        entry[:desc] = description if description
        entry[:default] = options[:default] if options.key?(:default)
        values = options[:values].is_a?(Hash) ? options[:values][:value] : options[:values]
        entry[:values] = values if values
        entry[:documentation] = options[:documentation] if options.key?(:documentation)
        names.each { |name| @parameters.document(full_name(name), entry) }
      end
    end
  end
end
