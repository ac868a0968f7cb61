# frozen_string_literal: true

module Elah
  class Entity
    # The public methods of a class of entities that its references have: those that the class, its modules and its superclasses define, also where
    # every object has a method of the name, such as `freeze`, `send` or `extend`.
    # @api private
    module CallableMethods
      # Ruby and libraries call these on any object. A reference has its own, an entity may have others.
      OWN = %i[
        ! != !~ <=> == === =~ eql? equal? hash inspect to_s respond_to? respond_to_missing? method_missing
        _dump _dump_data marshal_dump marshal_load pretty_print pretty_print_cycle
      ].freeze

      # These tell what an object is, or are the interface of a reference: a call would get the reference's answer.
      RESERVED = %i[
        __id__ __send__ class frozen? instance_eval instance_exec instance_of? instance_variable_defined? instance_variable_get
        instance_variable_set instance_variables is_a? kind_of? nil? object_id key deferred once
      ].freeze

      # @param entity_class [Class]
      # @return [Array<Symbol>]
      # @raise [ArgumentError] when one of them is reserved
      def self.of(entity_class)
        modules = entity_class.ancestors.take_while { |ancestor| !ancestor.equal?(Entity) }
        names = modules.flat_map { |ancestor| ancestor.public_instance_methods(false) }.uniq - OWN - [:restore]
        names.select! { |name| entity_class.public_method_defined?(name) }
        reserved = names & RESERVED
        return names if reserved.empty?

        raise ArgumentError, "#{entity_class}##{reserved.first}: a reference has another method of this name. Rename this one, or make it private."
      end
    end
  end
end
