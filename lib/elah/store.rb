# frozen_string_literal: true

# The Ruby half of the store: keywords, defaults and documentation. The other half is native (ext/elah/src/store.rs).
require_relative "store/errors"
require_relative "store/clock"
require_relative "store/table"
require_relative "store/counter"
require_relative "store/transaction"
require_relative "store/fork"
require_relative "store/ownership"
require_relative "store/watch"

module Elah
  # An embedded store in one directory: ordered tables of binary strings, counters and transactions. Several processes may open it at once; each
  # reads it at memory speed. A write suspends the calling fiber (elsewhere it blocks the thread) until it is on disk. Writes that wait at the same
  # time share one sync.
  #
  # @example
  #   store = Elah::Store.open("data/links")
  #   links = store.table("links")
  #   links.put_new("elah", "https://example.com/") # => true, once it is on disk
  #   links.get("elah")                             # => "https://example.com/"
  class Store
    # Attempts at a transaction before {Conflict} is raised.
    ATTEMPTS_MAX = 32
    # Attempts without a lock; for later attempts all other writers wait, 20 ms at most.
    FREE_ATTEMPTS_MAX = 4

    class << self
      # @!method release_all
      #   Closes every store of this process; each is opened again at its next use.
      #   @api private
      #   @return [nil]

      # Opens the store in a directory, or creates it. A process has each directory open only once. Counts that a killed process had in memory are
      # recovered here.
      #
      # @param dir [String] the directory; created if it is missing
      # @param bytes_max [Integer, nil] maximum size of the file in bytes; nil uses the default of `store_bytes_max`
      # @param fold_seconds [Numeric] how long increments with `durability: :memory` may stay in memory before they are stored
      # @param sweep_seconds [Numeric] interval at which expired entries are removed
      # @param clock [Elah::Store::Clock, nil] clock for expiry; nil uses the system's
      # @return [Elah::Store]
      # @raise [CannotOpen] when the directory is not writable, or its file is not Elah's
      # @raise [Damaged] when its file is empty, truncated or damaged in one of the checked pages
      # @raise [Full] when the disk has no room for a new store
      def open(dir, bytes_max: nil, fold_seconds: 0.1, sweep_seconds: 1, clock: nil)
        bytes_max ||= Options.fetch(:store_bytes_max, source: "Elah::Store").default
        open_native(dir.to_s, bytes_max, (fold_seconds * 1000).round, (sweep_seconds * 1000).round, clock)
      end

      # Checks every page of a store, whether other processes use it or not. {open} checks only the first 1024 pages.
      #
      # @param dir [String] a directory that this process does not have open
      # @return [Hash{Symbol=>Integer}] the numbers of `pages` and `entries`
      # @raise [Damaged] when a page is damaged
      # @raise [CannotOpen]
      def check(dir) = %i[pages entries].zip(check_native(dir.to_s)).to_h

      # Checks, for a readiness probe, that every open store of this process accepts writes. The fiber waits for the check; another call within a
      # second returns the same result at once.
      #
      # @return [void]
      # @raise [NotReady] with the reason, when a store does not
      def check_ready
        troubles_native(true).first&.then { |_dir, reason| raise NotReady, reason }
      end

      # @return [Hash{String=>String}] the directories of this process's stores that are known to refuse writes, with the reason
      def troubles = troubles_native(false).to_h

      private :open_native, :troubles_native, :check_native
    end

    # @!method table(name)
    #   The table of that name. It is created with its first entry.
    #   @param name [String] 1 to 255 bytes
    #   @return [Elah::Store::Table]
    #   @raise [InvalidKey] when the name is empty or too long

    # @!method values_at(*tables_and_keys)
    #   Values of one or several tables, from one snapshot.
    #   @param tables_and_keys [Array<Elah::Store::Table, String>] a table of this store, a key, and so on
    #   @return [Array<String, nil>] binary; nil for a missing or expired value
    #   @raise [InvalidKey] when a key is empty or too long

    # @!method sweep
    #   Removes expired entries. The store also does so in the background, every `sweep_seconds`.
    #   @return [Integer] number of removed entries

    # @!method flush
    #   Stores the counts that this process has in memory.
    #   @return [nil] once it is on disk

    # @!method close
    #   Finishes waiting writes and closes the store. Other methods raise {Closed} afterwards.
    #   @return [nil]

    # @!method closed?
    #   @return [Boolean]

    # @!method dir
    #   @return [String] its directory

    # The counters of that name. They are independent of a table with the same name.
    #
    # @param name [String] 1 to 255 bytes
    # @param durability [Symbol] default of {Counter#increment}: `:disk` or `:memory`
    # @return [Elah::Store::Counter]
    # @raise [InvalidKey] when the name is empty or too long
    def counter(name, durability: :disk)
      unless %i[disk memory].include?(durability)
        raise ArgumentError, "durability: must be :disk or :memory, not #{durability.inspect}"
      end

      counter_native(name, durability == :memory)
    end

    # @param names [Array<String>] of tables, which writes name by their positions
    # @param delay_seconds [Numeric] time for which others join a batch that nobody waits for: with many rows per page of the store, a row costs a
    #   fraction
    # @return [Elah::Shards::Commits]
    # @api private
    def group_commits(names, delay_seconds) = Shards::Commits.open(names.map { |name| table(name) }, delay_seconds)

    # @return [Placement::Single, Placement::Supervised] which process owns which entities of this store
    # @api private
    def placement(_event_loop) = Placement.current

    # @return [Elah::Entity::Servers] the other servers on this folder
    # @api private
    def servers = Entity::Servers.of(dir)

    # Runs a block that reads one snapshot of the store, and whose writes are stored together or not at all. If another write changed data that the
    # block had read, the block runs again. So it should only read and write the store. After {FREE_ATTEMPTS_MAX} attempts the writers of all
    # processes wait for it, so that it cannot fail forever. Transactions are serialisable: the result is as if they had run one after another.
    # Nothing is stored if the block raises, or is left with `break`, `return` or `throw`.
    #
    # @yieldparam tx [Elah::Store::Transaction]
    # @yieldreturn [T]
    # @return [T] the block's value, once its writes are on disk
    # @raise [Conflict] after {ATTEMPTS_MAX} attempts
    def transaction(&block)
      outcome = attempt(&block)
      return outcome.first if outcome

      # Retries run one after another, so that they do not conflict again.
      @losers ||= Mutex.new
      return again(&block) if @losers.owned?

      @losers.synchronize { again(&block) }
    end

    private

    def again(&block)
      (2..ATTEMPTS_MAX).each do |number|
        outcome = attempt(is_reserved: number > FREE_ATTEMPTS_MAX, &block)
        return outcome.first if outcome
      end
      raise Conflict, "The transaction lost against other writes #{ATTEMPTS_MAX} times."
    end

    # The block's value in an array, or nil after a conflict.
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
