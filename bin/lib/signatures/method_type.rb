# frozen_string_literal: true

module Signatures
  # The type of one method in RBS, from its parameters and its YARD tags.
  class MethodType
    KEYWORDS = %w[alias attr_accessor attr_reader attr_writer bool boolean bot class def end extend false in include instance interface module nil
                  out prepend private public self singleton top true type unchecked untyped void].freeze
    # What tells that a method does without its block.
    OPTIONAL_BLOCK = /block_given\?|\bblock\.nil\?|\bblock (?:\?|\|\||&&)|\|\| block\b|\b(?:if|unless) (?:\w+ \|\| )?block\b|&& block\b/.freeze

    # @param method [YARD::CodeObjects::MethodObject]
    # @param type [Type]
    # @yieldparam gap [String] what YARD does not tell
    def initialize(method, type, &gaps)
      @method = method
      @type = type
      @gaps = gaps
      @variables = []
    end

    # @return [String] with `|` between overloads
    def rbs
      overloads = @method.tags(:overload)
      (overloads.empty? ? [@method] : overloads).map { |source| one(source) }.join(" | ")
    end

    private

    def one(source)
      return attribute if @method.is_attribute?

      @source = source
      @variables.clear
      parameters = source.parameters.reject { |name, _| name.start_with?("&") }
      text = "#{parameters(parameters)}#{block} -> #{result}"
      @variables.empty? ? text : "[#{@variables.uniq.sort.join(', ')}] #{text}"
    end

    # YARD writes a comment itself for a member of a Struct without a type.
    def attribute
      reader = @method.attr_info[:read]
      tag = reader&.tag(:return) || @method.tag(:param)
      silent = tag.nil? || tag.types.nil? || @method.docstring.match?(/\A(?:Returns the value of|Sets the) attribute/)
      type = silent ? gap("attribute") : translate(tag.types)
      @method.writer? ? "(#{type} value) -> void" : "() -> #{type}"
    end

    def parameters(list)
      seen_rest = false
      texts = list.map do |name, default|
        case name
        when /\A\*\*(\w*)/ then options($1) || "**#{element($1, name)}#{named($1)}"
        when /\A\*(\w*)/ then seen_rest = true and "*#{element($1, name)}#{named($1)}"
        when /:\z/ then "#{'?' if default}#{name} #{of_param(name.delete_suffix(':'))}"
        else "#{'?' if default && !seen_rest}#{of_param(name)}#{named(name)}"
        end
      end
      "(#{texts.join(', ')})"
    end

    def named(name)
      return "" if name.empty?

      " #{KEYWORDS.include?(name) ? "_#{name}" : name}"
    end

    def of_param(name)
      tag = tags(:param).find { |candidate| candidate.name&.delete(":*&") == name }
      return gap("parameter #{name}") unless tag&.types

      translate(tag.types)
    end

    # The keywords of a Hash of options that YARD lists.
    def options(name)
      pairs = tags(:option).select { |tag| tag.name == name }.map(&:pair)
      pairs.map { |pair| "?#{pair.name.delete_prefix(':')}: #{translate(pair.types)}" }.join(", ") unless pairs.empty?
    end

    # The type of each element that a splat collects: YARD names the Array or the Hash.
    def element(name, written)
      tag = tags(:param).find { |candidate| candidate.name&.delete(":*&") == name }
      return "untyped" if name.empty?
      return gap("parameter #{written}") unless tag&.types

      inner = tag.types.one? && tag.types.first[written.start_with?("**") ? /\AHash\{.*?=>(.*)\}\z/ : /\AArray<(.*)>\z/, 1]
      return "untyped" if %w[Hash Array].include?(tag.types.first)

      translate(inner ? [inner] : tag.types)
    end

    def block
      written = @source.parameters.any? { |name, _| name.start_with?("&") }
      receiver = @source.tag(:yieldreceiver)
      takes = tags(:yieldparam)
      gives = @source.tag(:yieldreturn)
      yields = @source.equal?(@method) && @method.source.to_s.match?(/\byield\b/)
      return "" unless written || receiver || takes.any? || gives || yields

      arguments = takes.map { |tag| "#{tag.types ? translate(tag.types) : gap("block parameter #{tag.name}")}#{named(tag.name.to_s)}" }
      self_type = " [self: #{translate(receiver.types)}]" if receiver
      arguments = ["?#{translate(receiver.types)}"] if receiver && arguments.empty? # instance_eval passes it too
      optional = "?" if @method.tags(:overload).size < 2 && @method.source.to_s.match?(OPTIONAL_BLOCK)
      " #{optional}{ (#{arguments.join(', ')})#{self_type} -> #{gives&.types ? translate(gives.types) : 'void'} }"
    end

    def result
      return "void" if @method.name == :initialize

      tag = @source.tag(:return)
      return gap("result") if tag && (tag.types.nil? || tag.types.empty?)

      tag ? translate(tag.types) : "void"
    end

    def tags(name) = @source.tags(name)

    def translate(types)
      @variables.concat(types.join(" ").scan(/(?<![\w:])[A-Z](?!\w|:)/))
      @type.rbs(types)
    rescue Type::Unknown => e
      gap(e.message)
    end

    def gap(what)
      @gaps.call("#{@method.file}:#{@method.line}: #{@method.path}: #{what}")
      "untyped"
    end
  end
end
