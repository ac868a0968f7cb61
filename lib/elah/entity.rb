# frozen_string_literal: true

require_relative "entity/errors"
require_relative "entity/state"
require_relative "entity/index"
require_relative "entity/call_columns"
require_relative "entity/activation"
require_relative "entity/reference"
require_relative "entity/region"
require_relative "entity/peers"
require_relative "entity/gauges"
require_relative "entity/fork"

module Elah
  # An object with a key that lives in one worker at a time, runs one call after the other, and has stored what a call changed before
  # the caller gets the answer. Every worker calls it the same way.
  #
  # Its instance variables are its memory: {#restore} builds them from what is stored when the entity comes to life, and later calls read
  # them without a look at the store. Its public methods are what can be called.
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
    # What `durability` may be.
    DURABILITIES = %i[disk memory].freeze
    # For how long writes wait for others before they go to the disk, where answers do not wait for that; and the longest.
    LINGER_SECONDS = 0.05
    LINGER_SECONDS_MAX = 60

    class << self
      # The entities of this class that a store holds. The same object however often it is asked for.
      #
      # @param store [Elah::Store]
      # @return [Region]
      # @raise [ArgumentError] when the class has no name, or another class has entities of the same name in the store
      def in(store) = Region.of(self, store)

      # When a call is answered: `:disk`, once what it wrote is on disk; `:memory`, at once, while the writes are on their way there. What
      # was answered in memory and is not on disk yet is lost with the process.
      #
      # @param choice [Symbol, nil] sets it
      # @return [Symbol]
      # @raise [ArgumentError] when it is neither
      def durability(choice = nil)
        return @durability ||= superclass <= Entity && superclass != Entity ? superclass.durability : :disk unless choice
        raise ArgumentError, "durability must be :disk or :memory, not #{choice.inspect}" unless DURABILITIES.include?(choice)

        @durability = choice
      end

      # With `durability :memory`, for how long writes may wait for others before they go to the disk. Of many writes to one key the last one
      # alone is written then, and neighbours are written together. What has waited when the process is killed is lost.
      #
      # @param seconds [Numeric, nil] sets it: 0 to {LINGER_SECONDS_MAX}, {LINGER_SECONDS} unless a class says so
      # @return [Numeric] 0 where answers wait for the disk
      # @raise [ArgumentError]
      def linger_seconds(seconds = nil)
        return durability == :memory ? own_linger : 0 unless seconds
        return @linger_seconds = seconds if seconds.is_a?(Numeric) && seconds.between?(0, LINGER_SECONDS_MAX)

        raise ArgumentError, "linger_seconds must be 0 to #{LINGER_SECONDS_MAX}, not #{seconds.inspect}"
      end

      # The name under which the store keeps the entities; the class's own unless it is set. It must not change while there are any.
      #
      # @param name [String, nil] sets it
      # @return [String]
      def entity_name(name = nil)
        @entity_name = name if name
        @entity_name || self.name or raise ArgumentError, "A class without a name needs an entity_name."
      end

      # Declares an index: rows of a table of its own that calls write together with their state, and that every process reads by
      # {Region#index} at the speed of memory.
      #
      # @param name [Symbol]
      def index(name) = own_indexes << name

      # @return [Array<Symbol>] all that are declared, in their order
      def indexes = superclass <= Entity ? superclass.indexes + own_indexes : own_indexes

      # @return [Array<Symbol>] the methods that can be called from outside
      def calls = public_instance_methods - Entity.public_instance_methods

      private

      def own_indexes = @own_indexes ||= []

      def own_linger = @linger_seconds || (superclass <= Entity && superclass != Entity ? superclass.send(:own_linger) : LINGER_SECONDS)
    end

    # @return [String]
    attr_reader :key

    # Builds the entity from what is stored. Called once, before the first call.
    def restore = nil

    private

    # What this entity has stored.
    #
    # @return [Elah::Shards::State]
    attr_reader :state

    # @param name [Symbol] of an index that the class declares
    # @return [Index] to write rows
    def index(name) = @indexes[name] ||= Index.open(@state, Index.number(self.class, name))

    # Has a native object make calls of one of its methods, as long as it can: {SlotQueues::Loans}, for example.
    #
    # @param substitute [SlotQueues::Loans, nil]
    def natively(substitute) = @state.natively = substitute

    def come_to_life(key, state)
      @key = key
      @state = state
      @indexes = {}
    end
  end
end
