# frozen_string_literal: true

# The Ruby half of the store: keywords, defaults and documentation. The other half is native (ext/elah/src/store.rs).
require_relative "store/errors"
require_relative "store/clock"
require_relative "store/interface/opened"
require_relative "store/interface/table"
require_relative "store/interface/transaction"
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
    autoload :Backup, "elah/store/backup"
    autoload :Cluster, "elah/store/cluster"

    include Interface::Opened

    # Folders in a data folder during a restore: the first exists until the backup has been received and checked; from the second, its files are
    # then moved to their places.
    UNFINISHED_RESTORE = "restore.unfinished"
    CHECKED_RESTORE = "restore.checked"
    private_constant :UNFINISHED_RESTORE, :CHECKED_RESTORE

    # Attempts at a transaction before {Conflict} is raised.
    ATTEMPTS_MAX = 32
    # Attempts without a lock; for later attempts all other writers wait, 20 ms at most.
    FREE_ATTEMPTS_MAX = 4

    # Over a step back of the clock of up to this, {#now} stands still. With a larger one timers and holds would wait too long.
    STANDS_MS = 60_000

    # A URL with a slash too few is no folder either.
    URL = %r{\A(?:\w+://|postgres(?:ql)?:)}.freeze
    private_constant :STANDS_MS, :URL

    class << self
      # @!method release_all
      #   Closes every store of this process; each is opened again at its next use.
      #   @api private
      #   @return [nil]

      # Opens the store in a directory, or on a cluster's database, or creates it. A process has each directory open only once. Counts that a killed
      # process had in memory are recovered here.
      #
      # @param dir [String] the directory, which is created if it is missing, or the URL of a PostgreSQL database: see {Cluster.open}
      # @param bytes_max [Integer, nil] maximum size of the file in bytes; nil uses `store_bytes_max`; not for a cluster
      # @param fold_seconds [Numeric] how long increments with `durability: :memory` may stay in memory before they are stored; not for a cluster
      # @param sweep_seconds [Numeric] interval at which expired entries are removed
      # @param clock [Elah::Store::Clock, nil] clock for expiry; nil uses the system's. A cluster has its database's clock and refuses another
      # @param client [Hash{Symbol=>Numeric}] of a cluster: bounds of {Elah::SQL#initialize}
      # @return [Elah::Store, Elah::Store::Cluster]
      # @raise [CannotOpen] when the directory is not writable, or its file is not Elah's; when the database refuses
      # @raise [Damaged] when its file is empty, truncated or damaged in one of the checked pages
      # @raise [Full] when the disk has no room for a new store
      # @raise [Unavailable] when the database cannot be reached
      def open(dir, bytes_max: nil, fold_seconds: 0.1, sweep_seconds: 1, clock: nil, **client)
        return Cluster.open(dir, sweep_seconds: sweep_seconds, clock: clock, **client) if dir.to_s.b.match?(URL)
        raise ArgumentError, "#{client.keys.join(', ')}: only for the URL of a cluster" if client.any?

        [dir.to_s, File.dirname(dir.to_s)].each { |folder| check_restored(folder) }
        bytes_max = Store.limit(bytes_max || Elah.config.store_bytes_max, name: "bytes_max", least: 1)
        open_native(dir.to_s, bytes_max, (fold_seconds * 1000).round, (sweep_seconds * 1000).round, clock)
      end

      # @param place [String] a directory, or the URL of a cluster's database
      # @return [Elah::Store, Elah::Store::Cluster] the store that this process has open there, or opens
      # @api private
      def at(place)
        return open(place) unless place.match?(URL)

        opened = clusters.select { |cluster| cluster.dir == Cluster.dir_of(place) }
        opened.find(&:takes_part?) || opened.first || open(place)
      end

      # Checks every page of a store, whether other processes use it or not. {open} checks only the first 1024 pages.
      #
      # @param dir [String] a directory that this process does not have open
      # @return [Hash{Symbol=>Integer}] the numbers of `pages` and `entries`
      # @raise [Damaged] when a page is damaged
      # @raise [CannotOpen]
      def check(dir) = %i[pages entries].zip(check_native(folder(dir))).to_h

      # Copies a store to a smaller file, without free pages, which takes the place of its own.
      #
      # @param dir [String]
      # @return [Array(Integer, Integer)] the bytes of the file before and after
      # @raise [InUse] when a process has the store open
      # @raise [Damaged] when a page is damaged
      # @raise [CannotOpen]
      # @raise [Full] when the disk has no room for the smaller file beside the other one
      def compact(dir) = compact_native(folder(dir))

      # Reads every page and entry of a store, whether other processes use it or not.
      #
      # @param dir [String] a directory that this process does not have open
      # @return [Hash{Symbol=>Object}] `bytes` of the file; `pages` in use and `free_pages`; `entries`; `format`, and the `version` of Elah that has
      #   given the file its format; `readers`, the most slots of readers in use at once; `journals`; `tables` and `counters`, each a Hash by name of
      #   `entries` and `bytes`
      # @raise [Damaged] when a page is damaged
      # @raise [CannotOpen]
      def stats(dir) = stats_native(folder(dir))

      # Waits until what entities have acknowledged from memory is stored.
      #
      # @param store [Elah::Store, Elah::Store::Cluster]
      # @api private
      # @return [nil]
      def flush_entities(store)
        Entity::Collection.flush(store) unless Elah.autoload?(:Entity) || store.closed?
      end

      # Other processes learn that this one has no entities of a folder in memory any more.
      #
      # @param dir [String] of a store that was closed
      # @api private
      # @return [nil]
      def leave_entities(dir)
        return if Elah.autoload?(:Entity) || Entity::Collection.stores.any? { |store| store.dir == dir }

        Entity::Servers.leave(dir)
      end

      # @api private
      # @param data [String] a data folder
      # @return [void]
      # @raise [CannotOpen] when a restore into it was interrupted
      def check_restored(data)
        return if [UNFINISHED_RESTORE, CHECKED_RESTORE].none? { |name| Dir.exist?(File.join(data, name)) }
        return unless Dir.exist?(File.join(data, UNFINISHED_RESTORE)) || Backup.unmoved(data).any?

        raise CannotOpen, "#{data} has an unfinished restore: run `elah store restore` again, or remove all files of the folder."
      end

      # Checks, for a readiness probe, that every open store of this process accepts writes. The fiber waits for the check; another call within a
      # second returns the same result at once.
      #
      # @return [void]
      # @raise [NotReady] with the reason, when a store does not
      def check_ready
        trouble = troubles_native(true).first || clusters.dup.filter_map(&:check).first
        trouble&.then { |_dir, reason| raise NotReady, reason }
      end

      # @param last_ms [Integer, nil] the last time of a clock that may be set
      # @param now_ms [Integer] its time now
      # @return [Integer] the time for those who expect it to go on
      # @api private
      def following(last_ms, now_ms) = last_ms && last_ms - now_ms <= STANDS_MS ? [last_ms, now_ms].max : now_ms

      # @return [Hash{String=>String}] the directories of this process's stores that are known to refuse writes, with the reason; for a cluster its
      #   URL without the password
      def troubles = troubles_native(false).to_h.update(clusters.dup.filter_map(&:trouble).to_h)

      # @param dir [String] of a store, without symbolic links
      # @param data [String] the data folder
      # @return [String] what tells the store from others, also when the data folder was moved or restored elsewhere
      # @api private
      def identity_of(dir, data)
        data = File.realpath(data) if File.exist?(data)
        Text.of_bytes(dir.b.delete_prefix("#{data}/".b))
      end

      # @return [Array<Elah::Store::Cluster>] those that this process has open
      # @api private
      def clusters = @clusters ||= []

      private :open_native, :troubles_native, :check_native, :compact_native, :stats_native

      private

      # The message has no URL, because a URL has a password.
      def folder(dir)
        return dir.to_s unless dir.to_s.b.match?(URL)

        raise CannotOpen, "This needs the folder of a store: for a cluster's database use the tools of PostgreSQL."
      end
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

    # @!method closed?
    #   @return [Boolean]

    # @!method dir
    #   @return [String] its directory; of a cluster the URL without the password

    # Finishes waiting writes, also those that entities have acknowledged from memory, and closes the store. Other methods raise {Closed} afterwards.
    #
    # @return [nil]
    def close
      Store.flush_entities(self)
    ensure
      close_native
      Store.leave_entities(dir)
    end

    # The time of the clock by which entries expire: that of the system, or the `clock:` of {open}. When that is set back by up to a minute, this
    # time stands still until then; after a larger step it goes back too.
    #
    # @return [Time]
    def now = Time.at(0, @latest_ms = Store.following(@latest_ms, now_ms), :millisecond)

    # @!method check_shards(shards)
    #   @param shards [Integer]
    #   @return [nil]
    #   @raise [OtherShards] when its entities are divided into another number of shards
    #   @api private

    # @!method now_ms
    #   @return [Integer] the same in milliseconds since 1970; it may go back
    #   @api private

    # @param names [Array<String>] of tables, which writes name by their positions
    # @param delay_seconds [Numeric] time for which others join a batch that nobody waits for: with many rows per page of the store, a row costs a
    #   fraction
    # @param _checks_reads [Boolean] has no effect: every process sees in the store who may write
    # @return [Elah::Shards::Commits]
    # @api private
    def group_commits(names, delay_seconds, _checks_reads) = Shards::Commits.open(names.map { |name| table(name) }, delay_seconds)

    # @return [Placement::Single, Placement::Supervised] which process owns which entities of this store
    # @api private
    def placement = Placement.current

    # A store in a folder has nothing to take part in.
    # @api private
    def join(_event_loop, _peers) = nil

    # @return [Boolean] whether processes of other machines share it
    # @api private
    def clustered? = false

    # @return [String] what tells it from other stores, also when the data folder was moved or restored elsewhere
    # @api private
    def identity = Store.identity_of(dir, Elah.config.data)

    # @param what [String] as of {Entity::Servers.of}
    # @return [Elah::Entity::Servers] the servers on this folder
    # @api private
    def servers(what = "entities") = Entity::Servers.of(dir, what)

    alias new_counter counter_native
    alias begin_attempt begin_native
    private :close_native, :counter_native, :begin_native, :new_counter, :begin_attempt
  end
end
