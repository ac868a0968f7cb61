# frozen_string_literal: true

require "yard"
require_relative "definitions_handler"

# Type of the `self` of a block.
YARD::Tags::Library.define_tag("Block's self", :yieldreceiver, :with_types)

module Signatures
  # The public API: classes and modules that the user's docs name, what their public methods accept, return, raise or inherit from, and the
  # errors inside them. `@api private` excludes a class or a method.
  class Surface
    # Pages about the inside of Elah, which may name anything.
    INNER_PAGES = %w[docs/internals.md docs/releasing.md].freeze
    NAME = /\bElah(?:::[A-Z]\w*)*/.freeze
    TAGS = %i[param return raise yieldparam yieldreturn yieldreceiver].freeze

    # @param root [String] the checkout
    def initialize(root)
      YARD::Logger.instance.level = Logger::FATAL
      YARD::Registry.clear
      Dir.chdir(root) do
        YARD.parse("lib/elah{.rb,/**/*.rb}")
        @named = (Dir["README.md", "docs/*.md", "apps/*/README.md"] - INNER_PAGES).flat_map { |page| File.read(page).scan(NAME) }.uniq
      end
    end

    # @return [Array<YARD::CodeObjects::NamespaceObject>] in the order of their names
    def namespaces
      @namespaces ||= begin
        found = {}
        queue = @named.filter_map { |name| YARD::Registry.at(name) }
        while (object = queue.shift)
          next if found.key?(object.path) || object.root? || !namespace?(object) || hidden?(object)

          found[object.path] = object
          queue.concat(neighbours(object))
        end
        found.values.sort_by(&:path)
      end
    end

    # @param object [YARD::CodeObjects::NamespaceObject]
    # @return [Array<YARD::CodeObjects::MethodObject>] its public methods that need a signature
    def methods_of(object)
      object.meths(inherited: false, included: false).reject do |method|
        !offered?(method) || hidden?(method) || method.name.start_with?("_") || (silent?(method) && of_ruby?(object, method))
      end.sort_by { |method| [method.scope == :class ? 0 : 1, method.file.to_s, method.line.to_i] }
    end

    # @return [YARD::CodeObjects::NamespaceObject, nil] what a name means inside an object
    def resolve(object, name)
      found = YARD::Registry.resolve(object, name, true)
      found = resolve(found.namespace, found.value) if found.is_a?(YARD::CodeObjects::ConstantObject) && found.value.match?(/\A#{Type::NAME}\z/)
      found if found && namespace?(found)
    end

    # @return [Boolean]
    def hidden?(object) = object.visibility == :private || object.tag(:api)&.text == "private"

    private

    def namespace?(object) = object.is_a?(YARD::CodeObjects::NamespaceObject)

    # Private methods marked `@api public` are for subclasses. Members of a Struct are read.
    def offered?(method)
      return method.tag(:api)&.text == "public" if method.visibility != :public

      !(method.is_attribute? && method.writer? && struct?(method.namespace))
    end

    def struct?(object) = object.is_a?(YARD::CodeObjects::ClassObject) && object.superclass&.path == "Struct"

    def silent?(method) = method.docstring.all.to_s.strip.empty? && method.docstring.to_s.empty?

    # Overrides of Ruby's own methods without a comment keep Ruby's signature.
    def of_ruby?(object, method)
      return method.scope == :class && Class.method_defined?(method.name) if method.scope == :class || !object.is_a?(YARD::CodeObjects::ClassObject)

      root = object.inheritance_tree.last.path
      base = Object.const_defined?(root) ? Object.const_get(root) : Object
      base.method_defined?(method.name) || base.private_method_defined?(method.name) && method.name != :initialize
    end

    def neighbours(object)
      mixins = object.instance_mixins + object.class_mixins
      superclass = object.is_a?(YARD::CodeObjects::ClassObject) ? [object.superclass] : []
      errors = object.children.select { |child| child.is_a?(YARD::CodeObjects::ClassObject) && error?(child) }
      [object.namespace, *superclass, *mixins, *errors, *methods_of(object).flat_map { |method| types_of(method) }].compact
    end

    def error?(object) = object.inheritance_tree.any? { |ancestor| %w[Elah::Error Exception].include?(ancestor.path) }

    def types_of(method)
      tags = [method, *method.tags(:overload)].flat_map { |source| TAGS.flat_map { |name| source.tags(name) } }
      names = tags.flat_map { |tag| (tag.types || []).flat_map { |type| type.scan(Type::NAME) } }
      names.uniq.filter_map { |name| resolve(method.namespace, name) }
    end
  end
end
