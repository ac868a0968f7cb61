# frozen_string_literal: true

module Elah
  class Entity
    # Stands for an entity wherever it lives: has its public methods, and calls them there. Each class of entities has a class of
    # references of its own, so that a call is a plain method call.
    class Reference
      # @return [String]
      attr_reader :key

      # @param region [Region]
      # @param key [String]
      def initialize(region, key)
        @region = region
        @key = key
      end

      # The call, to be made later: `gather.call(:a, accounts["42"].deferred.deposit(10))`.
      #
      # @return [Reference] whose methods answer calls that {Elah.gather} takes
      def deferred = @region.deferred(@key)

      # A reference can be an argument or an answer of a call: on the other side it stands for the same entity.
      #
      # @return [String]
      def _dump(_level) = @key

      # @return [String]
      def inspect = "#<#{@region.name}[#{@key.inspect}]>"

      class << self
        # Names the class of a region's references, so that Marshal can write them.
        #
        # @param references [Class]
        # @param region [Region]
        def publish(references, region)
          references.define_singleton_method(:_load) { |key| region[key] }
          const_set("To#{region.number}", references)
        end

        # @param calls [Array<Symbol>] names of the methods
        # @param receiver [Symbol] the method of {Region} that gets each call
        # @return [Class]
        def for(calls, receiver = :call)
          Class.new(self) do
            calls.each do |name|
              class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
                # def deposit(*arguments)
                #   raise ArgumentError, "..." if block_given?
                #   @region.call(@key, :deposit, arguments)
                # end
                def #{name}(*arguments)
                  raise ArgumentError, "A block cannot be given to a call of an entity." if block_given?
                  @region.#{receiver}(@key, :#{name}, arguments)
                end
                ruby2_keywords :#{name}
              RUBY
            end
          end
        end
      end
    end
  end
end
