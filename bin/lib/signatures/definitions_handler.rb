# frozen_string_literal: true

require "yard"

module Signatures
  # Methods that a loop over a list of names defines: `%i[a b].each { |name| define_method(name) { |x| ... } }`, or `alias_method name, :other`.
  # The list may be a constant. The comment above the loop is that of each method.
  class DefinitionsHandler < YARD::Handlers::Ruby::Base
    DEFINITION = /define_method\((?<variable>\w+)(?<down>\.downcase)?\) (?:\{|do)(?: \|(?<parameters>[^|]*)\|)?/.freeze
    ALIAS = /alias_method \w+, :(?<original>\w+)/.freeze
    LIST = /\A%[iw]\[(?<names>[^\]]*)\]/.freeze

    handles method_call(:each)

    process do
      defined = DEFINITION.match(statement.source)
      original = ALIAS.match(statement.source)
      next unless (names = names_of(statement.first.source)) && (defined ? statement.comments : original)

      names.each do |name|
        name = name.downcase if defined && defined[:down]
        method = YARD::CodeObjects::MethodObject.new(namespace, name)
        register(method) { |object| object.parameters = defined ? parameters_of(defined[:parameters].to_s) : [] }
        namespace.aliases[method] = original[:original].to_sym if original
      end
      statement.docstring = nil # otherwise YARD takes the variable for a method
    end

    private

    def names_of(list)
      list = YARD::Registry.resolve(namespace, list, true)&.value if list.match?(/\A[A-Z]\w*\z/)
      LIST.match(list.to_s)&.[](:names)&.split
    end

    # `paths = ["/"], message: nil, &block` as YARD has them: pairs of name and default.
    def parameters_of(text)
      text.split(/,\s*(?![^\[{]*[\]}])/).map do |parameter|
        name, default = parameter.match(/\A([*&]*\w+:?)(?:\s*=\s*|\s*)(.*)\z/m).captures
        [name, default.empty? ? nil : default]
      end
    end
  end
end
