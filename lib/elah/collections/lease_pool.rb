# frozen_string_literal: true

require_relative "lease_pool/clock"
require_relative "lease_pool/errors"
require_relative "lease_pool/results"
require_relative "lease_pool/stored"

module Elah
  # Numbered items that are lent for a time: telephone numbers, seats, addresses, licences.
  #
  # An item is an Integer from 0 to 2**62 - 1. It is lent to one holder at a time, for at least the hold. After the hold it stays in quarantine,
  # and then it is free again. Every operation takes logarithmic time in the number of items, however many are held.
  #
  # The pool lives in memory. With `rows:` an entity keeps it in one of its indexes; {.open} keeps it in a table of {Elah::Store}.
  #
  # @example
  #   seats = Elah::LeasePool.new(1..200, hold: 600)
  #   lease = seats.lease(session: "ann")  # => #<struct item=1, serial=1, session="ann", ...>
  #   seats.renew(lease.id)
  #   seats.release(lease.id)
  class LeasePool
    # Maximum number of items of one pool.
    ITEMS_MAX = 100_000
    REQUEST_KEYS = %i[session item data].freeze
    # Values of `policy:`.
    #
    # longest_idle: the item that has been free for the longest time · round_robin: the next free item in the order of the list · random: any free
    # item · sticky: an item that this session has held as the last one, otherwise as longest_idle
    POLICIES = %i[longest_idle round_robin random sticky].freeze
    MICROSECONDS = 1_000_000

    class << self
      # A pool whose rows are in a table: every change is on disk before the call returns. The pool belongs to the process that opened it last. In
      # any other process, forks included, its methods raise {Elah::Store::OpenedElsewhere}, so no item is lent by two processes.
      #
      # @param store [Elah::Store]
      # @param table [String] the name of a table that holds nothing but lease pools
      # @param items [Enumerable<Integer>] see {#initialize}
      # @param name [String] the pool's name in the table, up to 255 bytes
      # @param settings [Hash{Symbol=>Object}] as in {#initialize}
      # @option settings [Numeric] :hold required
      # @option settings [Numeric] :quarantine
      # @option settings [Symbol] :policy
      # @option settings [Boolean] :draining
      # @option settings [Numeric] :history
      # @option settings [#now] :clock
      # @return [Elah::LeasePool::Stored]
      # @raise [InvalidItem, InvalidTerms, InvalidName, InvalidRow, Elah::Store::Error]
      def open(store, table, items, name: "", **settings)
        table = store.table(table)
        Store::Ownership.take(store, table, name) do |ownership|
          Stored.new(new(items, table: table, name: name, **settings), table, ownership)
        end
      end

      # The holder of an item at some time. Any process may call this, whichever owns the pool.
      #
      # @param table [Elah::Store::Table] that of {.open}, or that of the entity's index
      # @param item [Integer]
      # @param at [Integer] microseconds since 1970
      # @param name [String] the pool's name in the table
      # @return [Holder, nil] nil when nobody held it, or the time is longer ago than the pool's `history`
      # @raise [InvalidName, InvalidRow, Elah::Store::Error]
      def holder(table, item, at:, name: "") = Core.holder(table, name, item, at)
    end

    # Creates a pool in memory, or loads the one in `rows`. A stored pool gets the items and terms of these arguments.
    #
    # @param items [Enumerable<Integer>] the items in their order, up to {ITEMS_MAX}
    # @param hold [Numeric] seconds for which an item belongs to its holder; a hold and a quarantine last at most 100 years
    # @param quarantine [Numeric] seconds after a hold in which nobody gets the item
    # @param policy [Symbol] which free item is lent, one of {POLICIES}
    # @param draining [Boolean] whether the pool lends no items
    # @param rows [Elah::Entity::Index, nil] the index in which an entity keeps the pool: rows are stored together with the other writes of the call
    # @param name [String] the pool's name among the rows, up to 255 bytes; for an entity its key
    # @param history [Numeric] seconds for which {.holder} can tell who held an item
    # @param clock [#now] returns microseconds since 1970
    # @param table [Elah::Store::Table, nil] that of {.open}
    # @raise [InvalidItem, InvalidTerms, InvalidName, InvalidRow]
    # @raise [TypeError] when `rows` is no index of an entity
    def initialize(items, hold:, quarantine: 0, policy: POLICIES.first, draining: false, rows: nil, name: "", history: 0, clock: Clock.default,
                   table: nil)
      @clock = clock
      @name = name
      items = list(items)
      terms = [microseconds(hold, "hold"), microseconds(quarantine, "quarantine"), policy_number(policy), draining ? true : false]
      @core = Core.open(table || index(rows), name, terms, microseconds(history, "history"))
      is_changed = @core.set_terms(now, terms)
      is_changed = true if @core.resize(now, items)
      keep if is_changed
    end

    # Lends an item. A session that holds an item gets the same lease again, unchanged.
    #
    # @param session [String, nil] the session that requests it, 1 to 255 bytes
    # @param item [Integer, nil] the requested item; nil requests any free one
    # @param data [String] stored with the lease for {.holder}, up to 65,536 bytes
    # @return [Lease, nil] nil when no item, or not the requested one, is free
    # @raise [InvalidSession, InvalidItem, InvalidData]
    # @raise [TypeError] when `session` is no String or `item` no Integer
    def lease(session: nil, item: nil, data: "") = @core.lease(@clock.now, session, item, data)

    # Lends an item, or raises when there is none.
    #
    # @overload lease!(session: nil, item: nil, data: "")
    #   @param session [String, nil]
    #   @param item [Integer, nil]
    #   @param data [String]
    #   @return [Lease]
    # @raise [Exhausted] when no item, or not the requested one, is free
    # @raise (see #lease)
    def lease!(**request) = lease(**request) || raise(Exhausted, draining? ? "The pool is draining." : "No item of the pool is free.")

    # Lends many items in one call. If a request is invalid, it raises and lends none.
    #
    # @param requests [Integer, Array<Hash{Symbol, String=>Object}>] the number of leases, or the arguments of {#lease} for each
    # @return [Array<Lease, nil>] in the order of the requests
    # @raise (see #lease)
    # @raise [ArgumentError] for a count that is too large, or another key
    def lease_all(requests) = @core.lease_all(@clock.now, requests_of(requests))

    # Does the same as {#lease_all}, and returns JSON text: a list of objects with `lease`, `item`, `session`, `begun_at` and `held_until`, and
    # `null` where no item was free.
    #
    # @param (see #lease_all)
    # @return [String]
    # @raise (see #lease_all)
    def lease_all_json(requests) = @core.lease_all_json(@clock.now, requests_of(requests))

    # Restarts the hold of a lease. The lease of an item that leaves the pool is not prolonged.
    #
    # @param id [String] see {Lease#id}
    # @return [Lease, nil] nil when the lease is over
    def renew(id) = @core.renew(@clock.now, id)

    # Ends a lease early. The quarantine of the item begins.
    #
    # @param id [String] see {Lease#id}
    # @return [Lease, nil] nil when the lease was already over
    def release(id) = @core.release(@clock.now, id)

    # @param id [String] see {Lease#id}
    # @return [Lease, nil] nil when the lease is over
    def find(id) = @core.find(@clock.now, id)

    # Sets the items. The pool no longer lends an item that is not listed, which leaves when its hold and its quarantine are over. If it is listed
    # again before that, it stays.
    #
    # @param items [Enumerable<Integer>] the items in their order
    # @return [Hash{Integer=>Integer}] the items that leave, and the time at which each has left, in microseconds since 1970
    # @raise [InvalidItem]
    def resize(items)
      gone = @core.resize(now, list(items)) or return {}
      keep
      gone
    end

    # Changes the terms of later leases. Running holds end at their time; the new quarantine applies after them.
    #
    # @param hold [Numeric, nil] seconds; omitted arguments stay unchanged
    # @param quarantine [Numeric, nil] seconds
    # @param policy [Symbol, nil] one of {POLICIES}
    # @param draining [Boolean, nil]
    # @return [nil]
    # @raise [InvalidTerms]
    def change(hold: nil, quarantine: nil, policy: nil, draining: nil)
      terms = @core.terms
      terms[0] = microseconds(hold, "hold") if hold
      terms[1] = microseconds(quarantine, "quarantine") if quarantine
      terms[2] = policy_number(policy) if policy
      terms[3] = draining ? true : false unless draining.nil?
      keep if @core.set_terms(now, terms)
      nil
    end

    # Stops lending. Existing leases stay, and can be renewed.
    #
    # @return [nil]
    def drain = change(draining: true)

    # Reverts {#drain}.
    #
    # @return [nil]
    def resume = change(draining: false)

    # @return [Boolean]
    def draining? = @core.terms[3]

    # @return [Statistics]
    def statistics = @core.statistics(@clock.now)

    # @return [Array<Integer>] the items, without those that leave
    def items = @core.items

    # @return [Integer] number of leases that the pool has made
    def leases = @core.leases

    # @return [Integer] number of requests that found no free item
    def overflows = @core.overflows

    # @return [Integer] current time of the pool's clock, in microseconds since 1970
    def now = @clock.now

    # @api private
    # @return [String] the pool's name among the rows
    attr_reader :name

    # @return [String]
    def inspect = "#<#{self.class} of #{@core.items.size} items>"

    # @api private
    # Writes a snapshot.
    def keep = @core.keep

    # @api private
    # @return [Array<Array(String, (String, nil))>] keys and values to store; keys without a value are to be deleted
    def take_rows = @core.take_rows

    private

    def requests_of(requests)
      requests.is_a?(Integer) ? Array.new(check_count(requests)) { {} } : requests.to_ary.map { |request| arguments_of(request) }
    end

    # Parameters of an API have Strings as keys, and nil for what is optional.
    def arguments_of(request)
      raise TypeError, "A request must be a Hash, not #{request.class}." unless request.is_a?(Hash)

      arguments = request.to_h { |key, value| [key.to_s.to_sym, value] }.compact
      unknown = arguments.keys - REQUEST_KEYS
      return arguments if unknown.empty?

      raise ArgumentError, "A request has the keys session, item and data, not #{unknown.join(', ')}."
    end

    def check_count(count)
      return count if count.between?(0, ITEMS_MAX)

      raise ArgumentError, "requests must be 0 to #{ITEMS_MAX}, not #{count}"
    end

    def list(items)
      size = items.size
      return items.to_a unless size && size > ITEMS_MAX

      raise InvalidItem, "A pool must have at most #{ITEMS_MAX} items, not #{size}."
    end

    def index(rows)
      return rows if rows.nil? || rows.is_a?(Entity::Index)

      raise TypeError, "rows: must be an index of an entity, not #{rows.class}"
    end

    def microseconds(seconds, name)
      return (seconds * MICROSECONDS).round if seconds.is_a?(Numeric) && seconds.real? && seconds.finite? && seconds.abs < 1 << 40

      raise InvalidTerms, "#{name}: must be a number of seconds, not #{seconds.inspect}"
    end

    def policy_number(policy)
      POLICIES.index(policy) or raise InvalidTerms, "policy: must be one of #{POLICIES.map(&:inspect).join(', ')}, not #{policy.inspect}"
    end

    private_constant :Core, :REQUEST_KEYS
  end
end
