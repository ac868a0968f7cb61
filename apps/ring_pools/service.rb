# frozen_string_literal: true

require_relative "directory"
require_relative "forecast"
require_relative "ring_pool"

module RingPools
  # A running service, and the operations that need more than one of its parts.
  class Service
    # @return [Elah::Store]
    attr_reader :store
    # @return [Directory]
    attr_reader :directory
    # @return [Elah::ApiKey, nil] nil when anybody may change and see everything
    attr_reader :api_key
    # @return [Float] the time limit of a bulk request, in seconds
    attr_reader :deadline
    # @return [Elah::LeasePool::Clock]
    attr_reader :clock

    # @param store [Elah::Store]
    # @param api_key [Elah::ApiKey, nil]
    # @param durability [Symbol] :disk or :memory
    # @param deadline [Float] seconds
    # @param history_seconds [Integer] how long holders are recorded
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

    # Calls many pools at once: those of one worker in one message, with one wait for the disk. A pool without a reply at the
    # deadline counts as failed. A single worker has no deadline.
    #
    # @param calls [Array<Array>] each the key of a pool, the name of a method of {RingPool}, and its arguments
    # @return [Array] the result or the exception of each
    def scatter(calls) = pools.call_many(calls, deadline: @is_alone ? nil : @deadline)

    # Allocates a number of a pool. If the owner does not reply, the result is the overflow number.
    #
    # @param entry [Entry]
    # @param session [String, nil]
    # @param parameters [String]
    # @return [Hash] see {RingPool#allocate}; without a lease kind, :overflow or :refused, number and reason
    def allocate(entry, session, parameters)
      result = scatter([[entry.key, :allocate, session, parameters]]).first
      return result if result.is_a?(Hash)

      number = entry.definition.overflow
      reason = result.is_a?(Symbol) ? result.name : Failure.reason(result) || raise(result)
      { kind: number ? :overflow : :refused, number: number, reason: reason }
    end

    # @param given [Hash] fields by text
    # @param place [Hash{Symbol=>String}] where the original's API has it, if it does
    # @return [Array(Definition, Boolean)] the pool, and whether it is new
    # @raise [Invalid]
    def create(given, place = {})
      definition, is_new = settling { @directory.create(place, now: @clock.now) { |id| Definition.create(given, id: id, place: place) } }
      definition = update(definition.id, given) unless is_new
      apply(definition) if is_new
      [definition, is_new]
    end

    # @param id [Integer]
    # @param given [Hash] fields by text
    # @return [Definition]
    # @raise [Invalid]
    def update(id, given)
      settling { @directory.update(id, now: @clock.now) { |definition| definition.changed(given) } }.tap { |definition| apply(definition) }
    end

    # Ends a pool: it lends no numbers from now on, and held ones belong to nobody else until their holds are over.
    #
    # @param definition [Definition]
    # @return [Hash{Integer=>Integer}] when each number may belong to another pool, in microseconds
    def delete(definition)
      now = @clock.now
      gone = definition.numbers.to_h { |number| [number, now] }.merge(pools[definition.id].close)
      @directory.delete(definition, gone)
      @directory.refresh
      gone
    end

    # @param number [Integer]
    # @param at [Integer] microseconds
    # @return [Array(Integer, (Elah::LeasePool::Holder, nil)), nil] the pool that had the number, and its holder
    def holder(number, at)
      id = @directory.owner(number, at) or return
      pools.flush if RingPool.durability == :memory
      [id, Elah::LeasePool.holder(pools.index(:leases), number, at: at, name: id.to_s)]
    end

    private

    # Runs the block. If it needs a number whose end is not stored, stores the end and runs the block again.
    def settling
      yield
    rescue Directory::Unsettled => e
      gone = pools[e.pool].change
      at = gone[e.number] || Elah::LeasePool.holder(pools.index(:leases), e.number, at: @clock.now, name: e.pool.to_s)&.held_until
      @directory.let_go(e.pool, gone.merge(e.number => at || @clock.now))
      retry
    end

    def apply(definition)
      gone = pools[definition.id].change
      @directory.let_go(definition.id, gone)
      @directory.refresh
    end
  end
end
