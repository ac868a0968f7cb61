# frozen_string_literal: true

# A method of a module that is another one during a block. Minitest brings `stub` until version 6 only.
module ReplacedMethod
  # @param owner [Module]
  # @param name [Symbol]
  # @param replacement [#call] what is called instead
  def replacing(owner, name, replacement)
    original = owner.method(name).unbind
    define(owner, name) { |*arguments, **options| replacement.call(*arguments, **options) }
    yield
  ensure
    define(owner, name, original)
  end

  private

  def define(owner, name, *method, &block)
    owner.singleton_class.remove_method(name) if owner.singleton_class.method_defined?(name, false)
    owner.singleton_class.define_method(name, *method, &block)
  end
end
