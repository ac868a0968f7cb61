# frozen_string_literal: true

require_relative "history/journal"
require_relative "history/snapshots"
require_relative "pools/pool"
require_relative "wire_row"

module RingPools
  # Owns one pool where it lives: the entity of its id. What it does is in {Pools::Pool}; here it is loaded, called and kept. Two indexes,
  # which every worker may read, hold all that is kept: `steps`, a row for each step, and `snapshots`.
  class RingPool < Elah::Entity
    entity_name "ring_pools"
    index :steps
    index :snapshots

    # Rows that go with each snapshot when they are too old.
    PURGE_ROWS = 512

    class << self
      # @return [#now] microseconds since 1970
      attr_accessor :clock
      # @return [Integer] how long the history is kept, in microseconds
      attr_accessor :history
    end

    # Reads the last snapshot, and does again what was done since.
    def restore
      @id = key.to_i
      @clock = self.class.clock
      @journal = History::Journal.new(index(:steps), @id)
      @archive = History::Archive.new(self.class.in(RingPools.service.store), @id)
      @pool = @archive.load(@journal)
      prepare if @pool
      catch_up
    end

    # Gives a number, for a row of a bulk request. All rows of a request have the time at which it was read.
    #
    # @param session [String, nil]
    # @param parameters [String]
    # @param now [Integer] microseconds
    # @return [String, Symbol] the members of the row as JSON; for an overflow its reason
    def allocate_row(session, parameters, now)
      pool = @pool or return :draining
      take_over
      slot = pool.take(now, session, parameters)
      keep if @journal.steps >= @steps_max
      hand_over
      slot ? @members[slot] ||= members(slot) : pool.reason.to_sym
    end

    # @param session [String, nil]
    # @param parameters [String]
    # @return [Hash] see {#shown}
    def allocate(session, parameters) = changing { |now| @pool.allocate(now, session, parameters) }

    # @param number [Integer]
    # @param grant [Integer]
    # @return [Hash, nil] see {#shown}; nil when the hold is over
    def renew(number, grant) = changing { |now| @pool.renew(now, number, grant) }

    # @param (see #renew)
    # @return (see #renew)
    def release(number, grant) = changing { |now| @pool.release(now, number, grant) }

    # @param (see #renew)
    # @return (see #renew)
    def find(number, grant) = changing { |now| @pool.find(now, number, grant) }

    # Makes the pool what its definition says.
    #
    # @param terms [Hash] see {Pools::Terms}
    # @param numbers [Array<Integer>]
    # @return [Hash{Integer=>Integer}] numbers that leave, and when each has left
    def change(terms, numbers)
      terms = Pools::Terms.new(**terms)
      return {} if @pool && terms.revision < @pool.terms.revision

      @pool ||= Pools::Pool.new(terms, @journal)
      gone = @pool.change(@clock.now, terms, numbers)
      keep
      prepare
      gone
    end

    # @return [Hash] occupancy, counts, traffic and next_free_at
    def report
      return unless @pool

      now = @clock.now
      @pool.advance(now)
      { occupancy: @pool.occupancy, allocations: @pool.grant, overflows: @pool.overflows, next_free_at: @pool.next_free_at,
        traffic: @pool.traffic.since(now, @pool.grant, @pool.overflows) }
    end

    private

    # Whoever changed the definition may have been killed before it told the pool.
    def catch_up
      definition = RingPools.service.directory[@id]&.definition or return
      change(Pools::Terms.of(definition).to_h, definition.numbers) if @pool.nil? || @pool.terms.revision < definition.revision
    end

    # The members of an answer are written once for each slot; only {#change} gives a slot to another number.
    def prepare
      @wire = WireRow.new(@pool.terms.tracking_url)
      @members = []
      @journal.forget
      @steps_max = History::Snapshots.steps_max(@pool)
      @loans = natively(@pool.loans(:allocate_row, index(:steps), @journal.prefix))
      hand_over
    end

    # Most rows need nothing of Ruby: the loans make them until the pool has more to do than that, or is to be kept.
    def hand_over = @loans.open(@pool.terms.hold, @pool.plain_until, [@steps_max - @journal.steps, 0].max)

    def take_over = @journal.count(@loans.close)

    def members(slot)
      number = @pool.number(slot)
      @wire.of(number).freeze.tap { |text| @loans.describe(slot, @journal.head(number, @pool.terms.hold), text) }
    end

    def changing
      return unless @pool

      take_over
      lease = yield @clock.now
      keep if @journal.steps >= @steps_max
      hand_over
      lease&.to_h
    end

    def keep
      index(:snapshots).put("#{History::Steps.prefix(@id)}#{@pool.now}", History::Snapshots.write(@pool))
      @journal.restart
      purge
    end

    def purge
      index = { steps: index(:steps), snapshots: index(:snapshots) }
      @archive.outdated(@pool.now - self.class.history, PURGE_ROWS).each { |name, keys| keys.each { |key| index.fetch(name).delete(key) } }
    end
  end
end
