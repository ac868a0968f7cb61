# frozen_string_literal: true

require "strscan"

module Signatures
  # A type in YARD's notation, translated to RBS: `Array<String>, nil`, `Hash{Symbol=>Object}`, `Array(Integer, String)`, `:disk`, `#each`.
  # A single capital letter is a type variable of its method, and `Class<Name>` is the class itself.
  class Type
    # The type cannot be translated.
    class Unknown < StandardError; end

    WORDS = {
      "Object" => "untyped", "Boolean" => "bool", "void" => "void", "noreturn" => "bot", "self" => "self", "nil" => "nil", "true" => "true",
      "false" => "false"
    }.freeze
    # Generic classes of Ruby, with the arguments that they have where YARD names none.
    GENERIC = { "Array" => 1, "Hash" => 2, "Enumerator" => 2, "Range" => 1, "Enumerable" => 1, "Struct" => 1, "Set" => 1 }.freeze
    # What `?` may follow without parentheses.
    WHOLE = /\A(?:singleton\(|\(|\[|"|[A-Za-z_][\w:]*(?:\[.*\])?\z)/.freeze
    NAME = /(?:::)?[A-Z]\w*(?:::[A-Z]\w*)*/.freeze

    # @param ducks [Hash{String=>String}] collects the interfaces that the types need
    # @param names [Proc] called with the name of a class or module, returns its full name in RBS or nil
    def initialize(ducks, &names)
      @ducks = ducks
      @names = names
    end

    # @param types [Array<String>] alternatives
    # @return [String] in RBS, in parentheses where an operator could follow
    def rbs(types)
      parts = types.flat_map { |type| parse(type) }.uniq
      text = union(parts)
      parts.size > 1 && text == parts.join(" | ") ? "(#{text})" : text
    end

    # @return [String, nil] the full name of a class
    def class_named(name) = @names.call(name)

    private

    def parse(text)
      @text = StringScanner.new(text)
      parts = alternatives
      @text.eos? ? parts : fail_at
    end

    def alternatives
      parts = []
      loop do
        parts << one
        @text.scan(/\s*[,;]\s*/) or return parts
      end
    end

    def one
      if (duck = @text.scan(/#\w+[?!=]?/))
        duck(duck.delete_prefix("#"))
      elsif (literal = @text.scan(/:\w+[?!]?|"[^"]*"|-?\d+/))
        literal
      elsif (word = @text.scan(/(?:#{WORDS.keys.join('|')})\b(?!::)/))
        WORDS.fetch(word)
      elsif @text.scan(/\(/)
        "(#{union_until(/\)/)})"
      elsif (name = @text.scan(NAME))
        name.match?(/\A[A-Z]\z/) ? name : named(name)
      else
        fail_at
      end
    end

    def named(name)
      if name == "Class" && @text.scan(/</)
        return "singleton(#{union_until(/>/)})"
      elsif name == "Array" && @text.scan(/\(/)
        return "[#{all_until(/\)/).join(', ')}]"
      elsif name == "Hash" && @text.scan(/\{/)
        key = union_until(/\s*=>\s*/)
        return "Hash[#{key}, #{union_until(/\}/)}]"
      end

      full = @names.call(name) or raise Unknown, "no class #{name} is known"
      return "#{full}[#{arguments(full)}]" if @text.scan(/</)

      GENERIC.key?(full) ? "#{full}[#{Array.new(GENERIC[full], 'untyped').join(', ')}]" : full
    end

    # `Array<String, Symbol>` is an Array of either, `Enumerator<String>` has a second argument for its end.
    def arguments(full)
      union = union_until(/>/)
      full == "Enumerator" ? "#{union}, untyped" : union
    end

    def all_until(closing)
      alternatives.tap { @text.scan(closing) or fail_at }
    end

    def union_until(closing) = union(all_until(closing))

    def union(parts)
      parts = parts.uniq
      return "untyped" if parts.include?("untyped")
      return parts.join(" | ") unless parts.size == 2 && parts.delete("nil")

      parts.first.match?(WHOLE) ? "#{parts.first}?" : "(#{parts.first})?"
    end

    # A receiver of any parameters cannot be described before RBS 3.5, so a callable has a name of its own.
    def duck(method)
      @ducks.fetch(method) { raise Unknown, "no interface for ##{method}: add it to Signatures::DUCKS" }.first
    end

    def fail_at
      raise Unknown, "#{@text.string.inspect} is no type at #{@text.rest.inspect}"
    end
  end
end
