# frozen_string_literal: true

require_relative "traffic"
require_relative "wire_row"

module RingPools
  # One pool of numbers in the worker that owns it. An Elah::LeasePool holds the numbers, and keeps its rows in the index
  # `leases`, which every worker may read.
  class RingPool < Elah::Entity
    entity_name "ring_pools"
    index :leases

    class << self
      # @return [#now] microseconds since 1970
      attr_accessor :clock
      # @return [Integer] seconds for which it is known who had a number
      attr_accessor :history
    end

    # Loads the pool by its definition. A process that changed the definition may have been killed before it notified the pool.
    def restore
      @traffic = Traffic.new
      @members = {}
      change
    end

    # Lends a number for a row of a bulk request.
    #
    # @param session [String, nil]
    # @param parameters [String] as received; stored with the lease
    # @return [String, Symbol] the members of the row as JSON; the reason when there is no number
    def allocate_row(session, parameters)
      lease = lend(session, parameters)
      lease.is_a?(Symbol) ? lease : @members[lease.item] ||= @wire.of(lease.item).freeze
    end

    # @param (see #allocate_row)
    # @return [Hash, Symbol] see {#shown}; the reason when there is no number
    def allocate(session, parameters)
      lease = lend(session, parameters)
      lease.is_a?(Symbol) ? lease : shown(lease)
    end

    # @param id [String] of a lease
    # @return [Hash, nil] see {#shown}; nil when the lease is over
    def renew(id) = shown(@pool&.renew(id))

    # @param (see #renew)
    # @return (see #renew)
    def release(id) = shown(@pool&.release(id))

    # @param (see #renew)
    # @return (see #renew)
    def find(id) = shown(@pool&.find(id))

    # Applies the current definition. A late call does no harm, because it reads the same definition again.
    #
    # @return [Hash{Integer=>Integer}] numbers that leave, and when each has left
    def change
      definition = latest_definition or return {}
      @wire = WireRow.new(definition.tracking_url)
      @members.clear
      return adjust(definition) if @pool

      numbers = ended? ? [] : definition.numbers
      @pool = Elah::LeasePool.new(numbers, **terms(definition), rows: index(:leases), name: key, history: self.class.history, clock: self.class.clock)
      {}
    end

    # Ends the pool permanently: it lends no numbers, and held ones leave when their holds are over.
    #
    # @return [Hash{Integer=>Integer}] when each number has left
    def close
      state.put("ended", "1")
      return {} unless @pool

      @pool.drain
      @pool.resize([])
    end

    # @return [Hash, nil] occupancy, counts, traffic and next_free_at
    def report
      return unless @pool

      occupancy = @pool.statistics.to_h
      counts = occupancy.slice(:overflows, :next_free_at).merge(allocations: occupancy[:leases])
      { occupancy: { numbers: occupancy[:items], **occupancy.slice(:free, :held, :quarantined, :leaving) }, **counts,
        traffic: @traffic.since(@pool.now, @pool.leases, @pool.overflows) }
    end

    private

    # @return [Elah::LeasePool::Lease, Symbol] the reason when there is no number
    def lend(session, parameters)
      pool = @pool or return :draining
      lease = pool.lease(session: session, data: parameters)
      now = lease ? lease.begun_at : pool.now
      @traffic.count(now, pool.leases, pool.overflows) if now >= @traffic.counts_next_at
      lease || (pool.draining? ? :draining : :exhausted)
    end

    # @return [Hash, nil] kind: :new or :same · id: of the lease · number · begun, due: microseconds since 1970 · session
    def shown(lease)
      return unless lease

      { kind: lease.new? ? :new : :same, id: lease.id, number: lease.item, begun: lease.begun_at, due: lease.held_until, session: lease.session }
    end

    def adjust(definition)
      @pool.change(**terms(definition))
      @pool.resize(ended? ? [] : definition.numbers)
    end

    def terms(definition)
      { hold: definition.lifetime_seconds, quarantine: definition.quarantine_seconds, policy: definition.policy.to_sym,
        draining: ended? || definition.draining }
    end

    def ended? = state.get("ended") == "1"

    def latest_definition = RingPools.service.directory.tap(&:refresh)[key.to_i]&.definition
  end
end
