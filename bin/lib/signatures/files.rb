# frozen_string_literal: true

module Signatures
  # The files of sig/: one for each file of lib/ that opens a public class or module.
  class Files
    HEADER = "# Generated from the comments in %s by bin/signatures.\n"
    # The types of an option's value, and of what the config file may say.
    OPTIONS = {
      integer: ["Integer", "(Integer | String)"], workers: ["Integer", "(Integer | String | Symbol)"], float: ["Float", "(Numeric | String)"],
      boolean: ["bool", "bool"], string: ["String", "(String | Symbol)"]
    }.freeze

    # @return [Hash{String=>YARD::CodeObjects::NamespaceObject}] the public classes and modules by their names
    attr_reader :public_objects

    # @return [Array<String>] what YARD does not tell about the public API, each with file and line
    attr_reader :gaps

    # @param root [String] the checkout
    def initialize(root)
      @root = root
      @surface = Surface.new(root)
      @public_objects = @surface.namespaces.to_h { |object| [object.path, object] }
      @gaps = []
    end

    # @return [Hash{String=>String}] the texts by their paths below sig/
    def texts
      files = @public_objects.values.group_by(&:file).to_h do |file, objects|
        [file.delete_prefix("lib/").sub(/rb\z/, "rbs"), "#{format(HEADER, file)}\n#{objects.map { |object| declaration(object) }.join("\n")}"]
      end
      files.merge("elah/interfaces.rbs" => "#{format(HEADER, 'lib/')}\n#{interfaces}", "manifest.yaml" => manifest).sort.to_h
    end

    # @return [Boolean] whether something belongs to the framework
    def hidden?(object) = @surface.hidden?(object)

    private

    def declaration(object)
      members = [*mixins(object), *constants(object), *options(object), *struct(object), *methods(object)]
      "#{heading(object)}\n#{members.map { |line| "  #{line}\n" }.join}end\n"
    end

    def heading(object)
      return "module #{object.path}" unless object.is_a?(YARD::CodeObjects::ClassObject)

      superclass = name_of(object.superclass)
      "class #{object.path}#{" < #{superclass}" unless [nil, 'Object'].include?(superclass)}"
    end

    # A superclass or a mixin; nil for one that is not public.
    def name_of(object)
      return object.path if @public_objects.key?(object.path)
      return unless object.is_a?(YARD::CodeObjects::Proxy) && ruby?(object.path)

      arity = Type::GENERIC[object.path]
      arity ? "#{object.path}[#{Array.new(arity, 'untyped').join(', ')}]" : object.path
    end

    def ruby?(name) = Object.const_defined?(name) && !name.start_with?("Elah")

    def mixins(object)
      { "include" => object.instance_mixins, "extend" => object.class_mixins }.flat_map do |word, modules|
        modules.reverse.filter_map { |mixin| (name = mixin_name(object, mixin)) && "#{word} #{name}" }
      end
    end

    def mixin_name(object, mixin)
      return name_of(mixin) unless mixin.path == "Enumerable"

      each = object.meths.find { |method| method.name == :each }
      tags = [each, *each.tags(:overload)].flat_map { |source| source.tags(:yieldparam) }
      types = tags.select(&:types).map { |tag| type(object).rbs(tag.types) }
      "Enumerable[#{types.size == 1 ? types.first : "[#{types.join(', ')}]"}]"
    end

    # Constants whose value shows their class.
    def constants(object)
      object.constants(inherited: false, included: false).reject { |constant| @surface.hidden?(constant) }.filter_map do |constant|
        literal = case constant.value
                  when /\A-?[\d_]+\z/ then "Integer"
                  when /\A-?[\d_]+\.\d+\z/ then "Float"
                  when /\A"[^"]*"(\.freeze)?\z/ then "String"
                  when /\A%i\[[^\]]*\](\.freeze)?\z/ then "Array[Symbol]"
                  when /\A%w\[[^\]]*\](\.freeze)?\z/ then "Array[String]"
                  when /\A#{Type::NAME}\z/ then (named = type(object).class_named(constant.value)) && "singleton(#{named})"
                  end
        "#{constant.name}: #{literal}" if literal
      end
    end

    def methods(object)
      hidden, shown = @surface.methods_of(object).partition { |method| method.visibility == :private }
      texts = [shown, hidden].map { |methods| methods.map { |method| signature(method) } }
      hidden.empty? ? texts.first : [*texts.first, "", "private", "", *texts.last]
    end

    def signature(method)
      prefix = "self." if method.scope == :class
      original = method.namespace.aliases[method]
      return "alias #{prefix}#{method.name} #{prefix}#{original}" if original

      type = MethodType.new(method, type(method.namespace)) { |gap| @gaps << gap }.rbs
      "def #{prefix}#{method.name}: #{type}"
    end

    # What a Struct is made from: its members, all of which may be left out.
    def struct(object)
      return [] unless object.is_a?(YARD::CodeObjects::ClassObject) && object.superclass&.path == "Struct"

      by_name = File.readlines(File.join(@root, object.file))[object.line - 1].include?("keyword_init: true")
      members = object.instance_attributes.values.map do |info|
        type = signature(info[:read])[/-> (.*)/, 1]
        by_name ? "?#{info[:read].name}: #{type}" : "?#{type} #{info[:read].name}"
      end
      ["def initialize: (#{members.join(', ')}) -> void"]
    end

    def type(namespace)
      Type.new(DUCKS) do |name|
        object = @surface.resolve(namespace, name)
        object ? (object.path if @public_objects.key?(object.path)) : (name if ruby?(name))
      end
    end

    # The methods that the table of options defines.
    def options(object)
      Elah::Options.all.reject { |option| object.meths.any? { |method| method.name == option.name } }.flat_map do |option|
        read, written = OPTIONS.fetch(option.type, OPTIONS[:string])
        case object.path
        when "Elah::Config"
          ["def #{option.name}: () -> #{read}#{'?' if option.default.nil?}", *("def #{option.name}?: () -> bool" if option.type == :boolean)]
        when "Elah::Config::Dsl" then option.name == :config ? [] : ["def #{option.name}: (#{written} value) -> void"]
        else []
        end
      end
    end

    def interfaces
      declarations = DUCKS.values.filter_map { |_, declaration| declaration }
      "module Elah\n#{declarations.join("\n\n").gsub(/^(?=.)/, '  ')}\nend\n"
    end

    def manifest
      "dependencies:\n#{LIBRARIES.map { |name| "  - name: #{name}\n" }.join}"
    end
  end
end
