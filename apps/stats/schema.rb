# frozen_string_literal: true

module Stats
  # The rules for the parameters of one kind of event, in keywords of JSON Schema. Unknown keywords are refused rather than ignored,
  # because an unchecked rule would be worse than none.
  class Schema
    TYPES = { "object" => [Hash], "array" => [Array], "string" => [String], "integer" => [Integer], "number" => [Numeric],
              "boolean" => [TrueClass, FalseClass], "null" => [NilClass] }.freeze
    WORDS = %w[type properties required additionalProperties items enum const minimum maximum minLength maxLength minItems maxItems
               description title].freeze
    COUNTS = %w[minLength maxLength minItems maxItems].freeze
    DEPTH_MAX = 20

    # @param text [String] as of {#dump}
    # @return [Schema]
    def self.load(text)
      kept = Elah::JSON.parse(text)
      new(kept["name"], kept["version"], kept["definition"])
    end

    # @return [String]
    attr_reader :name
    # @return [Integer] 1 for the first
    attr_reader :version
    # @return [Hash{String=>Object}]
    attr_reader :definition

    # @param name [String] of the events
    # @param version [Integer]
    # @param definition [Hash{String=>Object}]
    # @raise [Refused]
    def initialize(name, version, definition)
      check(definition, "the schema", 0)
      @name = name
      @version = version
      @definition = definition
    end

    # @return [String]
    def dump = Elah::JSON.generate({ name: @name, version: @version, definition: @definition })

    # @param params [Hash{String=>Object}] of an event
    # @return [String, nil] the first thing that is wrong
    def fault(params) = fault_of(params, @definition, "it")

    private

    def check(rules, where, depth)
      raise invalid("#{where} is an object") unless rules.is_a?(Hash)
      raise invalid("#{where} is nested too deep") if depth > DEPTH_MAX

      unknown = rules.keys - WORDS
      raise invalid("#{where} has #{unknown.first.inspect}; known are #{WORDS.join(', ')}") if unknown.any?

      check_values(rules, where)
      (rules["properties"] || {}).each { |name, inner| check(inner, "#{where}'s #{name}", depth + 1) }
      check(rules["items"], "#{where}'s items", depth + 1) if rules.key?("items")
    end

    def check_values(rules, where)
      types = rules.fetch("type", "object").then { |type| type.is_a?(Array) ? type : [type] }
      wrong = { "type" => types.any? && types.all? { |type| TYPES.key?(type) }, "enum" => rules.fetch("enum", []).is_a?(Array),
                "properties" => rules.fetch("properties", {}).is_a?(Hash), "required" => strings?(rules.fetch("required", [])),
                "additionalProperties" => [true, false].include?(rules.fetch("additionalProperties", true)),
                "minimum" => rules.fetch("minimum", 0).is_a?(Numeric), "maximum" => rules.fetch("maximum", 0).is_a?(Numeric) }
              .merge(COUNTS.to_h { |word| [word, rules.fetch(word, 0).is_a?(Integer) && rules.fetch(word, 0) >= 0] }).key(false)
      raise invalid("#{where} has an invalid #{wrong}") if wrong
    end

    def strings?(value) = value.is_a?(Array) && value.all?(String)

    def invalid(words) = Refused.new("invalid_schema", "No schema: #{words}.")

    def fault_of(value, rules, where)
      of_type(value, rules, where) || of_value(value, rules, where) ||
        case value
        when Hash then of_object(value, rules, where)
        when Array then of_array(value, rules, where)
        when String then of_size(value.length, rules, "Length", where, "characters")
        when Numeric then of_number(value, rules, where)
        end
    end

    def of_type(value, rules, where)
      types = Array(rules["type"])
      "#{where} is no #{types.join(' and no ')}" unless types.empty? || types.any? { |type| TYPES.fetch(type).any? { |one| value.is_a?(one) } }
    end

    def of_value(value, rules, where)
      return "#{where} is not one of the allowed values" if rules.key?("enum") && !rules["enum"].include?(value)

      "#{where} has not the value that it must have" if rules.key?("const") && rules["const"] != value
    end

    def of_object(value, rules, where)
      missing = (rules["required"] || []).find { |name| !value.key?(name) }
      return "#{name_in(where, missing)} is missing" if missing

      properties = rules["properties"] || {}
      unknown = (value.keys - properties.keys).first if rules["additionalProperties"] == false
      return "#{name_in(where, unknown)} is not known" if unknown

      properties.each { |name, inner| value.key?(name) && (fault = fault_of(value[name], inner, name_in(where, name))) && (return fault) }
      nil
    end

    def of_array(value, rules, where)
      wrong = of_size(value.size, rules, "Items", where, "items")
      return wrong if wrong || !rules.key?("items")

      value.each_with_index { |one, index| (fault = fault_of(one, rules["items"], "#{where}[#{index}]")) && (return fault) }
      nil
    end

    def of_size(size, rules, suffix, where, units)
      return "#{where} has fewer than #{rules["min#{suffix}"]} #{units}" if rules["min#{suffix}"]&.> size

      "#{where} has more than #{rules["max#{suffix}"]} #{units}" if rules["max#{suffix}"]&.< size
    end

    def of_number(value, rules, where)
      return "#{where} is less than #{rules['minimum']}" if rules["minimum"]&.> value

      "#{where} is more than #{rules['maximum']}" if rules["maximum"]&.< value
    end

    def name_in(where, name) = where == "it" ? name : "#{where}.#{name}"
  end
end
