# frozen_string_literal: true

module Elah
  class Entity
    # A reference to an entity in any worker: it has the entity's public methods, and calls them there. Each class of entities has its own class of
    # references, so a call is a plain method call. As an entity may have a method `send`, `method` or `freeze`, nothing of Elah calls these on a
    # reference.
    class Reference
      # @return [String]
      attr_reader :key

      # @param collection [Collection]
      # @param key [String]
      # @api private
      def initialize(collection, key)
        @collection = collection
        @key = key
      end

      # A deferred call: `gather.call(:a, accounts["42"].deferred.deposit(10))`.
      #
      # @return [Reference] reference whose methods return calls for {Elah.gather}
      def deferred = @collection.deferred(@key)

      # Makes the next call at most once for an idempotency key. Its result is stored with its changes, and a repeated call with the key returns
      # that result. A call that raised is not stored: a repeated call runs again.
      #
      #   accounts["42"].once(headers["Idempotency-Key"], ttl: 3600).deposit(10)
      #
      # @param idempotency_key [String] 1 to {Once::KEY_BYTES_MAX} bytes, unique among the calls of this entity
      # @param ttl [Numeric] seconds for which the result is stored, at most {Once::SECONDS_MAX}
      # @return [Reference]
      # @raise [IdempotencyKeyInvalid] when the key is nil, empty or too long
      # @raise [ArgumentError] when the key is not a String, or `ttl` is out of range
      def once(idempotency_key, ttl: Once::SECONDS) = @collection.once(@key, idempotency_key, ttl)

      # A reference can be an argument or a result of a call: on the other side it refers to the same entity.
      #
      # @return [String]
      # @api private
      def _dump(_level) = @key

      # @return [String]
      def inspect = "#<#{@collection.name}[#{@key.inspect}]>"

      class << self
        # Gives the class of a collection's references a name, which Marshal needs.
        #
        # @param references [Class]
        # @param collection [Collection]
        # @api private
        def publish(references, collection)
          references.define_singleton_method(:_load) { |key| collection[key] }
          const_set("To#{collection.number}", references)
        end

        # Takes the name back.
        #
        # @param collection [Collection]
        # @api private
        def withdraw(collection) = remove_const("To#{collection.number}")

        # @param calls [Array<Symbol>] names of the methods
        # @param receiver [Symbol] the method of {Collection} that receives each call
        # @return [Class]
        # @api private
        def for(calls, receiver = :call)
          Class.new(self) do
            undef_method :once unless receiver == :call
            calls.each do |name|
              class_eval(<<~RUBY, __FILE__, __LINE__ + 1)
                # def deposit(*arguments)
                #   ::Kernel.raise ArgumentError, "..." if defined?(yield) # an entity may have a method raise
                #   @collection.call(@key, :deposit, arguments)
                # end
                def #{name}(*arguments)
                  ::Kernel.raise ArgumentError, "A call of an entity does not accept a block." if defined?(yield)
                  @collection.#{receiver}(@key, :#{name}, arguments)
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
