# frozen_string_literal: true

require_relative "definition"
require_relative "entry"

module RingPools
  # The list of pools and the owner of each number, for all workers, which read it at memory speed. In the store:
  #
  #     definitions pool id => JSON
  #     places      network, advertiser, campaign and id_from_network, separated by 0 => pool id
  #     tenures     number, when the pool got it => pool id, from when another may have it (0: not yet)
  #     overflows   overflow number, pool id => nothing
  #     service     "next_id", "version" (changed by every change), "clock"
  #
  # Numbers in keys are decimal digits of fixed length, so the keys are in their order.
  class Directory
    POOLS_MAX = 1_000_000
    # IDs are never reused.
    ID_MAX = 9_999_999

    # A pool has lost a number, and its end is not stored: the process was killed before {#let_go}, or it loaded the pool after the change.
    class Unsettled < StandardError
      # @return [Integer]
      attr_reader :pool
      # @return [Integer]
      attr_reader :number

      # @param pool [Integer] its ID
      # @param number [Integer]
      def initialize(pool, number)
        @pool = pool
        @number = number
        super("It is not stored when #{E164.format(number)} left pool #{pool}.")
      end
    end

    # @return [Elah::Store::Table]
    attr_reader :service

    # @param store [Elah::Store]
    def initialize(store)
      @store = store
      @definitions = store.table("definitions")
      @places = store.table("places")
      @tenures = store.table("tenures")
      @overflows = store.table("overflows")
      @service = store.table("service")
      forget
      @version = nil
    end

    # @param id [Integer]
    # @return [Entry, nil]
    def [](id) = @entries[id] || load(id)

    # Drops cached data that another worker has changed. Call it before a request reads pools.
    def refresh
      version = @service.get("version")
      return if version == @version

      forget
      @version = version
    end

    # @param id [Integer]
    # @return [Definition]
    # @raise [NotFound]
    def fetch(id) = self[id]&.definition || raise(NotFound.new("pool_not_found", "There is no pool #{id}."))

    # @param place [Hash{Symbol=>String}] with all of {Definition::PLACE}
    # @return [Definition, nil]
    def find(place)
      id = @places.get(place_key(place))
      id && self[id.to_i]&.definition
    end

    # @param place [Hash{Symbol=>String}] without id_from_network
    # @param limit [Integer]
    # @return [Array<Definition>]
    def at(place, limit:)
      prefix = place_key(place.slice(*Definition::PLACE[0, 3])) << "\0"
      @places.range(prefix: prefix, limit: limit).filter_map { |_, id| self[id.to_i]&.definition }
    end

    # @param after [Integer] id of the last pool that is known
    # @param limit [Integer]
    # @return [Array<Definition>] in the order of their ids
    def page(after:, limit:) = @definitions.range(after: key(after), limit: limit).map { |_, text| read(text) }

    # @return [Integer] how many pools there are
    def size = @definitions.size

    # Stores a new pool, unless another has its place.
    #
    # @param place [Hash{Symbol=>String}]
    # @param now [Integer] microseconds
    # @yieldparam id [Integer] of the new pool
    # @yieldreturn [Definition]
    # @return [Array(Definition, Boolean)] the pool, and whether it is new
    # @raise [Conflict] when a number belongs to another pool
    # @raise [Unsettled]
    def create(place, now:)
      pools = size # another connection of a cluster
      @store.transaction do |tx|
        taken = place.empty? ? nil : tx.get(@places, place_key(place))
        next [read(tx.get(@definitions, key(taken.to_i))), false] if taken

        definition = yield take_id(tx, pools)
        tx.put(@places, place_key(place), definition.id.to_s) unless place.empty?
        put(tx, definition, now)
        [definition, true]
      end
    end

    # Changes a pool. Removed numbers still belong to it until {#let_go}.
    #
    # @param id [Integer]
    # @param now [Integer] microseconds
    # @yieldparam definition [Definition]
    # @yieldreturn [Definition]
    # @return [Definition]
    # @raise [NotFound]
    # @raise [Conflict] when a number belongs to another pool
    # @raise [Unsettled]
    def update(id, now:)
      @store.transaction do |tx|
        text = tx.get(@definitions, key(id)) or raise NotFound.new("pool_not_found", "There is no pool #{id}.")
        before = read(text)
        tx.delete(@overflows, overflow_key(before)) if before.overflow
        (yield before).tap { |definition| put(tx, definition, now) }
      end
    end

    # Deletes a pool, and sets when other pools may have its numbers.
    #
    # @param definition [Definition]
    # @param departures [Hash{Integer=>Integer}] microseconds by number
    def delete(definition, departures)
      @store.transaction do |tx|
        text = tx.get(@definitions, key(definition.id)) and definition = read(text) # it may have changed since
        departures.each { |number, at| end_tenure(tx, definition.id, number, at) }
        tx.delete(@definitions, key(definition.id))
        tx.delete(@places, place_key(definition.to_h.slice(*Definition::PLACE))) if definition.id_from_network
        tx.delete(@overflows, overflow_key(definition)) if definition.overflow
        change_version(tx)
      end
    end

    # Sets when other pools may have the numbers that a pool has lost, unless it has got them back meanwhile.
    #
    # @param id [Integer] of the pool
    # @param departures [Hash{Integer=>Integer}] microseconds by number
    def let_go(id, departures)
      return if departures.empty?

      @store.transaction do |tx|
        text = tx.get(@definitions, key(id))
        (departures.keys - numbers(text)).each { |number| end_tenure(tx, id, number, departures[number]) }
      end
    end

    # @param number [Integer]
    # @param at [Integer] microseconds
    # @return [Integer, nil] id of the pool that had it then
    def owner(number, at)
      prefix = format("%015d", number)
      (key, value), = @tenures.range(prefix: prefix, to: "#{prefix}#{format('%016d', at + 1)}", reverse: true, limit: 1)
      value.to_i if key
    end

    # @param number [Integer]
    # @return [Array<Integer>] pools that have it as their overflow number
    def overflow_pools(number) = @overflows.range(prefix: format("%015d", number)).map { |key, _| key.byteslice(15, 10).to_i }

    private

    def load(id)
      entries = @entries # a {#refresh} while the store is read may follow a later change
      text = @definitions.get(key(id)) or return
      entries[id] = Entry.new(read(text))
    end

    def forget = @entries = {}

    def read(text)
      fields = Elah::JSON.parse(text)
      Definition.new(fields.transform_keys(&:to_sym))
    end

    def key(id) = format("%010d", id)

    def overflow_key(definition) = format("%015d%010d", definition.overflow, definition.id)

    def place_key(place) = place.values.join("\0")

    def take_id(tx, pools)
      id = (tx.get(@service, "next_id") || 1).to_i
      raise Invalid.new("too_many_pools", "There are #{POOLS_MAX} pools already.") if pools >= POOLS_MAX || id > ID_MAX

      tx.put(@service, "next_id", (id + 1).to_s)
      id
    end

    def put(tx, definition, now)
      definition.numbers.each { |number| claim(tx, number, definition.id, now) }
      claim_overflow(tx, definition, now) if definition.overflow
      tx.put(@definitions, key(definition.id), Elah::JSON.generate(definition.to_h))
      change_version(tx)
    end

    def change_version(tx) = tx.put(@service, "version", (tx.get(@service, "version").to_i + 1).to_s)

    def claim(tx, number, id, now)
      tenure, owner, gone_at = last_tenure(tx, number)
      if owner.to_i == id
        tx.put(@tenures, tenure, "#{id} 0") unless gone_at == "0"
        return
      end
      refuse_owned(tx, number, owner, gone_at, now)
      (overflow, _), = tx.range(@overflows, prefix: format("%015d", number), limit: 1)
      refuse(number, "is the overflow number of pool #{overflow.byteslice(15, 10).to_i}") if overflow
      tx.put(@tenures, "#{format('%015d', number)}#{format('%016d', now)}", "#{id} 0")
    end

    # Several pools may have the same overflow number, but no pool lends it.
    def claim_overflow(tx, definition, now)
      _, owner, gone_at = last_tenure(tx, definition.overflow)
      refuse_owned(tx, definition.overflow, owner, gone_at, now)
      tx.put(@overflows, overflow_key(definition), "")
    end

    def refuse_owned(tx, number, owner, gone_at, now)
      return if owner.nil? || (gone_at != "0" && gone_at.to_i <= now)
      raise Unsettled.new(owner.to_i, number) if gone_at == "0" && !numbers(tx.get(@definitions, key(owner.to_i))).include?(number)

      refuse(number, "belongs to pool #{owner}")
    end

    def refuse(number, reason) = raise(Conflict.new("number_taken", "#{E164.format(number)} #{reason}."))

    def end_tenure(tx, id, number, at)
      tenure, owner = last_tenure(tx, number)
      tx.put(@tenures, tenure, "#{id} #{at}") if owner.to_i == id
    end

    # @param text [String, nil] of a definition
    # @return [Array<Integer>]
    def numbers(text) = text ? read(text).numbers : []

    # @return [Array(String, String, String)] key, pool id, and from when on another may have it
    def last_tenure(tx, number)
      (key, value), = tx.range(@tenures, prefix: format("%015d", number), reverse: true, limit: 1)
      [key, *value&.split]
    end
  end
end
