# frozen_string_literal: true

# Owns the Ruby half of the store: keywords, defaults and documentation. The other half is native (ext/elah/src/store.rs).
require_relative "store/errors"
require_relative "store/clock"
require_relative "store/table"
require_relative "store/counter"
require_relative "store/transaction"
require_relative "store/fork"
require_relative "store/watch"

module Elah
  # An embedded store in one directory: ordered tables of binary strings, counters and transactions. Several processes may open
  # it at once; each reads it at the speed of memory. A write suspends the calling fiber (elsewhere it blocks the thread) until it
  # is on disk; all writes that wait at one moment share one sync.
  #
  # @example
  #   store = Elah::Store.open("data/links")
  #   links = store.table("links")
  #   links.put_new("elah", "https://example.com/") # => true, once it is on disk
  #   links.get("elah")                             # => "https://example.com/"
  class Store
    # Attempts at a transaction before {Conflict} is raised.
    ATTEMPTS_MAX = 32
    # Attempts that only hope that nothing comes in between; for those after them all other writers wait, 20 ms at most.
    FREE_ATTEMPTS_MAX = 4

    class << self
      # Opens the store in a directory, or creates it. A process has a directory open once, however often this is called. What a
      # killed process had counted in memory is recovered here.
      #
      # @param dir [String] the directory; made if it is missing
      # @param bytes_max [Integer, nil] the size in bytes to which the file may grow; nil is the default of `store_bytes_max`
      # @param fold_seconds [Numeric] how long increments with `durability: :memory` may stay in memory before they are stored
      # @param sweep_seconds [Numeric] the time between two looks for entries that have expired
      # @param clock [Elah::Store::Clock, nil] decides what has expired; nil is the system's clock
      # @return [Elah::Store]
      # @raise [CannotOpen] when the directory is not writable, or its file is not Elah's
      # @raise [Damaged] when its file is empty, cut off or damaged, as far as the pages show that are looked at
      # @raise [Full] when the disk has no room for a new store
      def open(dir, bytes_max: nil, fold_seconds: 0.1, sweep_seconds: 1, clock: nil)
        bytes_max ||= Options.fetch(:store_bytes_max, source: "Elah::Store").default
        open_native(dir.to_s, bytes_max, (fold_seconds * 1000).round, (sweep_seconds * 1000).round, clock)
      end

      # Looks at every page of a store, whether other processes use it or not. {open} looks at the first 1024 pages alone.
      #
      # @param dir [String] a directory that this process has not open
      # @return [Hash{Symbol=>Integer}] how many `pages` and `entries` there are
      # @raise [Damaged] when a page is not what was written
      # @raise [CannotOpen]
      def check(dir) = %i[pages entries].zip(check_native(dir.to_s)).to_h

      # Looks whether the stores that this process has open take writes: for a route that says whether the server is ready. It suspends for a
      # moment; a second look within a second is for free.
      #
      # @return [String, nil] why one of them takes none; nil while all do
      def trouble = troubles_native(true).first&.last

      # @return [Hash{String=>String}] the directories of stores of this process that take no writes, as far as that is known, and why
      def troubles = troubles_native(false).to_h

      # @!method release_all
      #   Lets go of every store of this process; each is opened again when it is used.
      #   @api private
      #   @return [nil]

      private :open_native, :troubles_native, :check_native
    end

    # @!method table(name)
    #   The table of that name. It comes into being with its first entry.
    #   @param name [String] 1 to 255 bytes
    #   @return [Elah::Store::Table]
    #   @raise [InvalidKey] when the name is empty or too long

    # @!method values_at(table, key, *more)
    #   Values of one or several tables, all as they were at one moment.
    #   @param table [Elah::Store::Table] of this store
    #   @param key [String]
    #   @param more [Array] another table, another key, and so on
    #   @return [Array<(String, nil)>] binary; nil where there is none or it has expired
    #   @raise [InvalidKey] when a key is empty or too long

    # The counters of that name, which have nothing to do with a table of the same name.
    #
    # @param name [String] 1 to 255 bytes
    # @param durability [Symbol] what {Counter#increment} does unless told otherwise: `:disk` or `:memory`
    # @return [Elah::Store::Counter]
    # @raise [InvalidKey] when the name is empty or too long
    def counter(name, durability: :disk)
      unless %i[disk memory].include?(durability)
        raise ArgumentError, "durability: must be :disk or :memory, not #{durability.inspect}"
      end

      counter_native(name, durability == :memory)
    end

    # Runs a block whose reads see the store at one moment and whose writes are stored together, or not at all. When another write
    # changed something that the block had read, the block runs again, so it should do nothing but read and write the store. After
    # {FREE_ATTEMPTS_MAX} attempts the writers of all processes wait for it, so that it cannot lose for ever.
    # Serialisable: the result is as if the transactions had run one after the other. An exception in the block stores nothing;
    # so does leaving it with `break`, `return` or `throw`.
    #
    # @yieldparam tx [Elah::Store::Transaction]
    # @return the block's value, once its writes are on disk
    # @raise [Conflict] after {ATTEMPTS_MAX} attempts
    def transaction(&block)
      outcome = attempt(&block)
      return outcome.first if outcome

      # Losers go one after the other, so that they do not make each other lose again.
      @losers ||= Mutex.new
      return again(&block) if @losers.owned?

      @losers.synchronize { again(&block) }
    end

    # @!method sweep
    #   Removes the entries whose time has come. The store does so by itself in the background, every `sweep_seconds`.
    #   @return [Integer] how many there were

    # @!method flush
    #   Stores what this process has counted in memory.
    #   @return [nil] once it is on disk

    # @!method close
    #   Does what waits and closes. Everything else raises {Closed} afterwards.
    #   @return [nil]

    # @!method closed?
    #   @return [Boolean]

    private

    def again(&block)
      (2..ATTEMPTS_MAX).each do |number|
        outcome = attempt(is_reserved: number > FREE_ATTEMPTS_MAX, &block)
        return outcome.first if outcome
      end
      raise Conflict, "The transaction lost against other writes #{ATTEMPTS_MAX} times."
    end

    # The block's value in an array, or nil when it lost.
    def attempt(is_reserved: false)
      transaction = begin_native(is_reserved)
      value = yield transaction
      [value] if transaction.send(:commit_native)
    ensure
      transaction&.send(:give_up_native)
    end

    private :counter_native, :begin_native
  end
end
