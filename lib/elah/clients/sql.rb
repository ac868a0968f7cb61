# frozen_string_literal: true

# The Ruby half of the SQL client: defaults, keywords and documentation. The other half is native (ext/elah/src/clients/sql.rs).
require "bigdecimal"
require "date"
require_relative "../native"
require_relative "client_bounds"
raise Elah::ClientMissing, "Elah::SQL" unless defined?(Elah::Clients::SQL)

require_relative "sql/errors"
require_relative "sql/statements"
require_relative "sql/transaction"

module Elah
  # A client of PostgreSQL, MySQL or MariaDB with a pool of connections. A query suspends only the calling fiber. Connections are opened on demand,
  # so a client may be created before workers are forked.
  #
  # @example
  #   sql = Elah::SQL.new("postgres://app:secret@localhost/shop")
  #   sql.query("SELECT id, name FROM items WHERE price < ?", 10) # => [{ "id" => 1, "name" => "Sling" }]
  #   sql.transaction { |tx| tx.execute("UPDATE stock SET count = count - 1 WHERE item = ?", 1) }
  class SQL
    include Statements

    MAY_BE_ZERO = %i[waiters_max statements_max].freeze
    # Time for which the end of a process waits until the server has been asked to end abandoned statements, which it would go on with.
    # Less than what a supervisor waits for its workers: the server may be silent.
    EXIT_SECONDS = 0.5
    private_constant :MAY_BE_ZERO, :EXIT_SECONDS

    # Waits at the end of a process, or of its image.
    #
    # @api private
    def self.finish = Concurrency.poll(EXIT_SECONDS) { Clients::SQL.interrupts.zero? }

    at_exit { finish }

    # @param url [String] `postgres://USER:PASSWORD@HOST:PORT/DATABASE`, or `mysql://`; `?sslmode=disable|prefer|require|verify-full`
    #   and `&sslrootcert=FILE`. PostgreSQL may have several hosts, `HOST1:PORT1,HOST2:PORT2`, which are tried in turn, and
    #   `&target_session_attrs=read-write`. Not that of a pooler in transaction mode, which mixes up the statements of its clients
    # @param connections_max [Integer] connections of each worker; threads of it that run no loop have as many of their own
    # @param waiters_max [Integer] callers of each worker that may wait for a connection
    # @param pool_seconds [Numeric] how long one may wait for a connection
    # @param connect_seconds [Numeric] how long reaching the server and signing in may take
    # @param query_seconds [Numeric] how long a statement may take; of {#each_row} each batch
    # @param idle_seconds [Numeric] time after which an idle connection is closed
    # @param statements_max [Integer] prepared statements that each connection keeps; 0 prepares a statement at every use
    # @raise [Elah::OptionError] when the URL or a bound is wrong
    def initialize(url, connections_max: 10, waiters_max: 10_000, pool_seconds: 5, connect_seconds: 5, query_seconds: 30,
                   idle_seconds: 300, statements_max: 256)
      bounds = { connections_max: connections_max, waiters_max: waiters_max, statements_max: statements_max }
      seconds = { pool_seconds: pool_seconds, connect_seconds: connect_seconds, query_seconds: query_seconds, idle_seconds: idle_seconds }
      bounds.merge(seconds).each { |name, value| ClientBounds.check(SQL, name, value, zero: MAY_BE_ZERO.include?(name)) }
      @native = Clients::SQL.open(url, bounds.merge(seconds.transform_values(&:to_f)))
      @connections_max = connections_max
    end

    # @return [Integer]
    attr_reader :connections_max

    # @return [Clients::SQL]
    # @api private
    attr_reader :native

    # Runs a block between BEGIN and COMMIT on its own connection. An exception rolls back. So does leaving the block with `throw`, `break` or
    # `return`, or the deadline of the request.
    #
    # @param isolation [Symbol, nil] `:read_committed`, `:repeatable_read` or `:serializable`; nil is the server's own
    # @yieldparam transaction [Transaction] run the statements of the transaction on this object
    # @yieldreturn [T]
    # @return [T] the block's value, once it is committed
    # @raise [SerializationFailure] when the block should be tried again
    # @raise [RolledBack] when the block rescued the error of a statement, and the server had rolled back for it: PostgreSQL does for any error, MySQL
    #   and MariaDB for a deadlock
    def transaction(isolation: nil)
      transaction = self.begin(isolation: isolation)
      value = yield transaction
      transaction.commit
      committed = true
      value
    ensure
      transaction&.roll_back unless committed
    end

    # A transaction that its caller ends, by {Transaction#commit} or {Transaction#roll_back}.
    #
    # @param isolation [Symbol, nil]
    # @param first [String, nil] a statement without parameters and rows that is sent together with the beginning; PostgreSQL only
    # @return [Transaction]
    # @api private
    def begin(isolation: nil, first: nil) = Transaction.new(@native.begin(isolation, first))

    # @return [Boolean] whether the server is PostgreSQL; otherwise it is MySQL or MariaDB
    def postgres? = @native.postgres?

    # @return [String] `host:port/database`
    def server = @native.server

    # @return [Hash{Symbol=>Integer}] of this worker: connections `in_use` and `idle`, callers `waiting`, and `connections_max`
    def status
      in_use, idle, waiting = @native.status
      { in_use: in_use, idle: idle, waiting: waiting, connections_max: @connections_max }
    end

    # Closes the connections, those in use once they are returned. Further calls raise {Closed}.
    #
    # @return [nil]
    def close = @native.close

    # @return [Boolean]
    def closed? = @native.closed?

    # @return [String] without the password
    def inspect = "#<#{self.class} #{server}>"
  end
end
