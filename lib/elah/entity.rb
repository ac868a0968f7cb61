# frozen_string_literal: true

require_relative "entity/errors"
require_relative "entity/state"
require_relative "entity/index"
require_relative "entity/activation"
require_relative "entity/once"
require_relative "entity/timers"
require_relative "entity/callable_methods"
require_relative "entity/reference"
require_relative "entity/collection"
require_relative "entity/peers"
require_relative "entity/gauges"
require_relative "entity/fork"

module Elah
  # An object with a key that is owned by one worker. It runs one call at a time, and stores the changes of a call before it returns. Every worker
  # calls it the same way.
  #
  # Its instance variables are its memory: {#restore} builds them from the stored state when the entity is loaded, and later calls read them without
  # the store. Its public methods are callable.
  #
  # @example
  #   class Account < Elah::Entity
  #     def restore
  #       @balance = state.get("balance").to_i
  #     end
  #
  #     def deposit(amount)
  #       @balance += amount
  #       state.put("balance", @balance.to_s)
  #       @balance
  #     end
  #   end
  #
  #   accounts = Account.in(Elah::Store.open("data"))
  #   accounts["42"].deposit(10) # => 10, once it is on disk
  class Entity
    autoload :Job, "elah/entity/job"

    # Values of `durability`.
    DURABILITIES = %i[disk memory].freeze
    # Values of `reads`.
    READS = %i[leased checked].freeze
    # Default and maximum time for which writes wait for others before they are stored, with `durability :memory`.
    LINGER_SECONDS = 0.05
    LINGER_SECONDS_MAX = 60

    class << self
      # The entities of this class in a store. Returns the same object at every call.
      #
      # @param store [Elah::Store]
      # @return [Collection]
      # @raise [ArgumentError] when the class has no name, or another class has entities of the same name in the store, or a reference has another
      #   method with the name of a public one
      def in(store) = Collection.of(self, store)

      # When a call returns: `:disk`, once its writes are on disk; `:memory`, at once, while they are still being stored. A `:memory` write that is
      # not on disk yet is lost with the process.
      #
      # @param choice [Symbol, nil] sets it
      # @return [Symbol]
      # @raise [ArgumentError] when it is neither
      def durability(choice = nil)
        return @elah_durability ||= superclass <= Entity && superclass != Entity ? superclass.durability : :disk unless choice
        raise ArgumentError, "durability must be :disk or :memory, not #{choice.inspect}" unless DURABILITIES.include?(choice)

        @elah_durability = choice
      end

      # On a cluster, what a call that writes nothing relies on: `:leased`, the lease of its worker; `:checked`, the database, which confirms before
      # the call returns that the worker still is the owner. One statement checks all calls of an iteration of the loop. Without a cluster both are
      # the same.
      #
      # @param choice [Symbol, nil] sets it
      # @return [Symbol]
      # @raise [ArgumentError] when it is neither
      def reads(choice = nil)
        return @elah_reads ||= superclass <= Entity && superclass != Entity ? superclass.reads : :leased unless choice
        raise ArgumentError, "reads must be :leased or :checked, not #{choice.inspect}" unless READS.include?(choice)

        @elah_reads = choice
      end

      # With `durability :memory`, how long writes may wait for others before they are stored. Of many writes to one key only the last is stored,
      # and neighbouring rows are written together. Waiting writes are lost when the process is killed.
      #
      # @param seconds [Numeric, nil] sets it: 0 to {LINGER_SECONDS_MAX}; the default is {LINGER_SECONDS}
      # @return [Numeric] 0 with `durability :disk`
      # @raise [ArgumentError]
      def linger_seconds(seconds = nil)
        return durability == :memory ? own_linger : 0 unless seconds
        return @elah_linger = seconds if seconds.is_a?(Numeric) && seconds.between?(0, LINGER_SECONDS_MAX)

        raise ArgumentError, "linger_seconds must be 0 to #{LINGER_SECONDS_MAX}, not #{seconds.inspect}"
      end

      # The name of the entities in the store, by default the name of the class. It must not change while the store has any.
      #
      # @param name [String, nil] sets it
      # @return [String]
      def entity_name(name = nil)
        @elah_name = name if name
        @elah_name || self.name or raise ArgumentError, "A class without a name needs an entity_name."
      end

      # Declares an index: rows of a separate table that calls write together with their state. Every process reads them by {Collection#index} at
      # memory speed.
      #
      # @param name [Symbol]
      # @return [nil]
      # @raise [ArgumentError] when {in} was called before, which gives each table its number
      def index(name)
        return if indexes.include?(name)
        raise ArgumentError, "Declare the index #{name} before you call #{self}.in." if Collection.of_class?(self)

        own_indexes << name
        nil
      end

      # @return [Array<Symbol>] the declared indexes, in their order
      def indexes = superclass <= Entity ? superclass.indexes + own_indexes : own_indexes

      # @return [Boolean] whether the entities can have timers: they have a method `woken`, which may be private
      # @api private
      def timers? = method_defined?(:woken) || private_method_defined?(:woken)

      # @return [Float, nil] time limit of `woken`, in seconds
      # @api private
      def woken_seconds = Elah.config.request_seconds

      # @return [Array<Symbol>] the callable methods
      # @raise [ArgumentError] when a reference has another method of one of these names
      def calls = CallableMethods.of(self)

      private

      def own_indexes = @elah_indexes ||= []

      def own_linger = @elah_linger || (superclass <= Entity && superclass != Entity ? superclass.send(:own_linger) : LINGER_SECONDS)
    end

    # @return [String]
    def key = @elah_key

    # Builds the entity from its stored state. Called once, before the first call.
    def restore = nil

    private

    # The stored state of this entity.
    #
    # @return [Elah::Shards::State]
    def state = @elah_state

    # @param name [Symbol] of an index that the class declares
    # @return [Index] to write rows
    def index(name) = @elah_indexes[name] ||= Index.open(@elah_state, Index.number(@elah_collection.entity_class, name))

    # Sets the timer of this entity, or removes it. At that time, and not before it, the owner calls the method `woken` as a call of its own. The
    # timer is stored with the other changes of the call that sets it. An entity has one timer; it is removed when `woken` is called, which may set
    # it again. If `woken` raises, or its worker is killed, it is called again.
    #
    # @param time [Time, nil] nil removes the timer
    # @return [nil]
    # @raise [ArgumentError] when it is no Time, or the class has no method `woken`
    def wake_at(time)
      TIMER.bind_call(self).set(Timer.milliseconds(time, @elah_collection.store))
      nil
    end

    def timer = @elah_indexes[Timer] ||= Timer.new(@elah_collection, @elah_key, @elah_state)

    # The timer fires, unless it was changed meanwhile; see {Timers}.
    def __wake__(time)
      return false unless TIMER.bind_call(self).take(time)

      woken
      true
    end

    # The timer has fired, and failed.
    def __postpone__(time) = TIMER.bind_call(self).postpone(time, @elah_collection.store.now_ms)

    # The names of instance variables are the app's, except those that begin with `elah_`.
    def attach(key, state, collection)
      @elah_key = key
      @elah_state = state
      @elah_indexes = {}
      @elah_collection = collection
    end

    # Makes a call unless its result is stored under the idempotency key, see {Reference#once}.
    ruby2_keywords def __once__(idempotency_key, ttl, name, *arguments)
      once = @elah_indexes[Once] ||= Once.new(@elah_collection, @elah_key, @elah_state)
      method_name = @elah_collection.method_named(name)
      once.result(idempotency_key, ttl, name, arguments) { __send__(method_name, *arguments) }
    end

    # A subclass may have methods of these names, as of every name that Elah calls here: `class`, `raise`, `state`.
    ATTACH = instance_method(:attach)
    TIMER = instance_method(:timer)
    private_constant :ATTACH, :TIMER
  end
end
