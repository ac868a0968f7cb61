# frozen_string_literal: true

require_relative "directory"
require_relative "forecast"
require_relative "ring_pool"

module RingPools
  # Owns what a running service consists of, and what takes more than one of its parts.
  class Service
    # @return [Elah::Store]
    attr_reader :store
    # @return [Directory]
    attr_reader :directory
    # @return [Elah::ApiKey, nil] nil when anybody may change and see everything
    attr_reader :api_key
    # @return [Float] seconds that a bulk request may take
    attr_reader :deadline
    # @return [Elah::LeasePool::Clock]
    attr_reader :clock

    # @param store [Elah::Store]
    # @param api_key [Elah::ApiKey, nil]
    # @param durability [Symbol] :disk or :memory
    # @param deadline [Float] seconds
    # @param history_seconds [Integer] how long it is known who had a number
    # @param is_alone [Boolean] whether no other worker serves the app
    def initialize(store, api_key: nil, durability: :disk, deadline: 0.15, history_seconds: 2_592_000, is_alone: true)
      @store = store
      @api_key = api_key
      @deadline = deadline
      @is_alone = is_alone
      @directory = Directory.new(store)
      @clock = Elah::LeasePool::Clock.new(@directory.service)
      RingPool.durability(durability)
      @pools = RingPool.in(store)
      RingPool.clock = @clock
      RingPool.history = history_seconds
    end

    # @return [Elah::Entity::Collection] the pools, by id
    attr_reader :pools

    # Makes calls of many pools at once: those of one worker in one message, with one wait for the disk. Who has not answered at the deadline
    # has failed; in a worker that is alone nobody is waited for.
    #
    # @param calls [Array<Array>] each the key of a pool, the name of a method of {RingPool}, and its arguments
    # @return [Array] for each its answer, or the exception with which it ended
    def scatter(calls) = pools.call_many(calls, deadline: @is_alone ? nil : @deadline)

    # Asks a pool for a number. An owner that does not answer leads to the overflow number.
    #
    # @param entry [Entry]
    # @param session [String, nil]
    # @param parameters [String]
    # @return [Hash] see {RingPool#allocate}; without a lease kind, :overflow or :refused, number and reason
    def allocate(entry, session, parameters)
      answer = scatter([[entry.key, :allocate, session, parameters]]).first
      return answer if answer.is_a?(Hash)

      number = entry.definition.overflow
      reason = answer.is_a?(Symbol) ? answer.name : Failure.reason(answer) || raise(answer)
      { kind: number ? :overflow : :refused, number: number, reason: reason }
    end

    # @param given [Hash] fields by text
    # @param place [Hash{Symbol=>String}] where the original's API has it, if it does
    # @return [Array(Definition, Boolean)] the pool, and whether it is new
    # @raise [Invalid]
    def create(given, place = {})
      definition, is_new = @directory.create(place, now: @clock.now) { |id| Definition.create(given, id: id, place: place) }
      definition = update(definition.id, given) unless is_new
      apply(definition) if is_new
      [definition, is_new]
    end

    # @param id [Integer]
    # @param given [Hash] fields by text
    # @return [Definition]
    # @raise [Invalid]
    def update(id, given)
      @directory.update(id, now: @clock.now) { |definition| definition.changed(given) }.tap { |definition| apply(definition) }
    end

    # Ends a pool: it gives no numbers from now on, and those that are held are nobody else's until their holds are over.
    #
    # @param definition [Definition]
    # @return [Hash{Integer=>Integer}] when each number may belong to another pool, in microseconds
    def delete(definition)
      gone = pools[definition.id].close
      @directory.delete(definition)
      @directory.let_go(definition.id, gone)
      @directory.refresh
      gone
    end

    # @param number [Integer]
    # @param at [Integer] microseconds
    # @return [Array(Integer, (Elah::LeasePool::Holder, nil)), nil] the pool that had the number, and who held it
    def holder(number, at)
      id = @directory.owner(number, at) or return
      pools.flush if RingPool.durability == :memory
      [id, Elah::LeasePool.holder(pools.index(:leases), number, at: at, name: id.to_s)]
    end

    private

    def apply(definition)
      gone = pools[definition.id].change
      @directory.let_go(definition.id, gone)
      @directory.refresh
    end
  end
end
