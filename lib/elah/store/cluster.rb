# frozen_string_literal: true

# The store in a PostgreSQL database, which is loaded when one is opened.
require_relative "cluster/schema"
require_relative "cluster/limits"
require_relative "cluster/span"
require_relative "cluster/database"
require_relative "cluster/clock"
require_relative "cluster/names"
require_relative "cluster/table"
require_relative "cluster/counter"
require_relative "cluster/read_set"
require_relative "cluster/commit"
require_relative "cluster/transaction"
require_relative "cluster/sweeper"
require_relative "cluster/membership"
require_relative "cluster/health"
require_relative "cluster/import"

module Elah
  class Store
    at_exit do
      Entity::Collection.flush_at_end unless Elah.autoload?(:Entity)
      clusters.each(&:leave)
    end

    # A store in a PostgreSQL database, which the processes of several machines share. It has the methods of {Elah::Store}, and each of them waits for
    # the database. Entries expire by the clock of the database.
    #
    # @example
    #   store = Elah::Store.open("postgres://shop@db1/shop?sslmode=verify-full&sslrootcert=/etc/ssl/db.pem")
    #   store.table("links").put_new("elah", "https://example.com/") # => true, once it is committed
    class Cluster
      include Interface::Opened
      include Health

      VALUES_AT = "SELECT r.value FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS q (name, key, place) " \
                  "LEFT JOIN elah_tables t USING (name) " \
                  "LEFT JOIN elah_rows r ON r.tbl = t.tbl AND r.key = q.key AND #{Schema::LIVE} ORDER BY place".freeze
      # In a transaction.
      VALUES_WERE_AT = VALUES_AT.sub(Schema::LIVE, Schema::WAS_LIVE).freeze
      BACK_OFF_SECONDS = 0.002
      BACK_OFF_SECONDS_MAX = 0.1
      SEVERAL_HOSTS = %r{\A\w+://(?:[^/?#]*@)?[^/?#@]*,}.freeze
      private_constant :VALUES_AT, :VALUES_WERE_AT, :BACK_OFF_SECONDS, :BACK_OFF_SECONDS_MAX, :SEVERAL_HOSTS

      # Opens the store in a database. Creates its tables if they are missing.
      #
      # @param url [String] `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, as of {Elah::SQL}; of several hosts the one that accepts writes is used
      # @param sweep_seconds [Numeric] interval at which expired entries are removed
      # @param clock [nil] a cluster has the clock of its database
      # @param shards [Integer] of the entities; fixed when the tables are created
      # @param bounds [Hash{Symbol=>Numeric}] of {Elah::SQL#initialize}, such as `connections_max:`
      # @return [Elah::Store::Cluster]
      # @raise [CannotOpen] when the database refuses, or its tables are of a later version of Elah
      # @raise [OtherShards] when its tables have another number of shards
      # @raise [Unavailable] when it cannot be reached
      # @raise [ArgumentError] when a clock is given
      def self.open(url, sweep_seconds: 1, clock: nil, shards: Elah.config.shards, **bounds)
        raise ArgumentError, "clock: a cluster has the clock of its database" if clock

        new(url.to_s, sweep_seconds, shards, bounds).tap { |cluster| Store.clusters << cluster }
      end

      # A standby, to which one name may lead too, returns what was true before. Of several servers, one without writes may have been replaced.
      #
      # @param url [String]
      # @return [String] one whose sessions are at the primary
      # @api private
      def self.primary(url)
        return url if !url.start_with?("postgres") || url.include?("target_session_attrs=")

        "#{url}#{url.include?('?') ? '&' : '?'}target_session_attrs=#{url.match?(SEVERAL_HOSTS) ? 'read-write' : 'primary'}"
      end

      # @param url [String]
      # @return [String] the URL without the password
      # @api private
      def self.dir_of(url) = url.sub(%r{\A(\w+://[^:/?#@]*):[^/?#]*@}, '\1@').freeze

      # @return [String] the URL without the password
      attr_reader :dir

      # @return [String] the name that the cluster was given when its tables were created
      attr_reader :name

      # @return [Names]
      # @api private
      attr_reader :tables

      # @return [Names]
      # @api private
      attr_reader :counters

      private_class_method :new

      # @api private
      def initialize(url, sweep_seconds, shards, bounds)
        @url = Cluster.primary(url)
        @shards = shards
        @dir = Cluster.dir_of(url)
        @name, @identity = create(@url, shards, bounds)
        @database = Database.new(@url, bounds)
        @tables = Names.new(@database, "elah_tables")
        @counters = Names.new(@database, "elah_counters")
        @sweeper = Sweeper.new(@database, sweep_seconds)
        @clock = Clock.new(@database)
        @takes_part = false
      end

      # The table of that name. It is created with its first entry.
      #
      # @param name [String] 1 to 255 bytes of UTF-8
      # @return [Elah::Store::Cluster::Table]
      # @raise [InvalidKey] when the name is empty, too long or no UTF-8
      def table(name) = Table.new(self, Limits.name(name))

      # Values of one or several tables, from one snapshot.
      #
      # @param tables_and_keys [Array<Elah::Store::Cluster::Table, String>] a table of this store, a key, and so on
      # @return [Array<String, nil>] binary; nil for a missing or expired value
      # @raise [InvalidKey] when a key is empty or too long
      def values_at(*tables_and_keys)
        pairs = pairs(tables_and_keys)
        names = pairs.map { |table, _| own(table).name }
        keys = pairs.map { |_, key| Limits.key(key) }
        database.read { |sql| sql.rows(VALUES_AT, names, keys) }.flatten(1)
      end

      # (see Elah::Store#now)
      def now = @clock.now

      # @return [Integer] {#now} in milliseconds since 1970
      # @api private
      def now_ms = (now.to_r * 1000).to_i

      # (see Elah::Store#sweep)
      def sweep = @sweeper.sweep

      # Every count is in the database already.
      #
      # @return [nil]
      def flush = nil

      # (see Elah::Store#close)
      def close
        Store.flush_entities(self)
      ensure
        Store.clusters.delete(self)
        @sweeper.stop
        leave
        @database.close
      end

      # (see Elah::Store#closed?)
      def closed? = @database.closed?

      # @return [String] without the password
      def inspect = "#<#{self.class} #{dir}>"

      # @param names [Array<String>] of tables, which writes name by their positions
      # @param delay_seconds [Numeric] time for which others join a batch that nobody waits for
      # @param checks_reads [Boolean] whether calls without writes are part of a batch, too
      # @return [Elah::Shards::Commits]
      # @api private
      def group_commits(names, delay_seconds, checks_reads)
        Shards::Commits.of_cluster(membership.native, names, delay_seconds.to_f, checks_reads)
      end

      # @return [Placement::Clustered] which process owns which entities
      # @api private
      def placement = membership.placement

      # This process takes part in the cluster from now on. Its entities write past {#database}, and their rows expire too.
      #
      # @param event_loop [Elah::EventLoop, nil]
      # @param peers [Entity::Peers, nil]
      # @api private
      def join(event_loop, peers)
        @sweeper.start
        membership.join(event_loop, peers)
      end

      # @return [Boolean] whether processes of other machines share it
      # @api private
      def clustered? = true

      # @return [String] the same whatever URL a process has; of an imported folder that of the folder, by which stored references find their class
      # @api private
      attr_reader :identity

      # Hands the entities of this process over. Their writes are stored first.
      #
      # @return [Array<Entity::Activation>] those that were in memory
      # @api private
      def leave = (Elah.autoload?(:Entity) ? [] : Entity::Collection.leave(self)).tap { @membership&.leave }

      # @return [nil] the database tells owners apart
      # @api private
      def servers(_what = nil) = nil

      # @return [Boolean] whether this process takes part, so that others may call it
      # @api private
      def joined? = @membership ? @membership.process_id == Process.pid : false

      # @return [Membership] of this process
      # @api private
      def membership
        @membership = nil unless @membership&.process_id == Process.pid
        take_part
        @membership ||= Membership.new(@name, @url, @database, @shards, Elah.config)
      end

      # Entities, jobs and broadcasts use this store from now on. Other processes see each open store as a member of the cluster, which owns shards.
      #
      # @raise [ArgumentError] when they have another one already
      # @api private
      def take_part
        return if @takes_part

        if Store.clusters.any? { |cluster| cluster.same?(self) && cluster.takes_part? }
          raise ArgumentError, "#{dir} is open twice in this process. Open it once, and use that store for all entities, jobs and broadcasts."
        end

        @takes_part = true
      end

      # @return [Boolean]
      # @api private
      def takes_part? = @takes_part

      # @return [Database]
      # @api private
      def database
        @sweeper.start
        @database
      end

      # @return [Array<Array(Table, String)>]
      # @raise [ArgumentError] when a key is missing
      # @api private
      def pairs(tables_and_keys)
        return tables_and_keys.each_slice(2).to_a if tables_and_keys.size.even?

        raise ArgumentError, "A key is missing: #{tables_and_keys.size} arguments are no pairs of a table and a key."
      end

      # Restarts the sweeper in the child of a fork.
      # @api private
      def forked = @sweeper.forked

      # @param store [Elah::Store::Cluster]
      # @return [Boolean] whether both are of one database
      # @api private
      def same?(store) = store.equal?(self) || store.dir == dir

      private

      # On connections of its own, which are closed: a process that forks workers has none open then.
      def create(url, shards, bounds)
        database = Database.new(url, { connections_max: 1, **bounds.except(:connections_max) })
        database.write { |sql| Schema.create(sql, shards) }
      rescue Failed => e
        raise CannotOpen, "The cluster cannot be opened. #{e.message}"
      ensure
        database&.close
      end

      def new_counter(name, is_in_memory) = Counter.new(self, Limits.name(name), is_in_memory ? :memory : :disk)

      def begin_attempt(_is_reserved)
        raise Closed, "The store is closed." if closed?

        Transaction.new(self)
      end

      # The more often it has lost, the longer, so that others are through by then.
      def back_off(number) = sleep(rand * [BACK_OFF_SECONDS * (2**number), BACK_OFF_SECONDS_MAX].min)

      def own(table)
        case table
        when Table then return table if same?(table.store)
        when Store::Table then nil
        else raise TypeError, "wrong argument type #{table.class} (expected #{Table})"
        end
        raise Error, "#{table.name.inspect} belongs to another store."
      end
    end
  end
end
