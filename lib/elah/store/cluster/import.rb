# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # Copies the tables and counters of a store in a folder to the database of a cluster that has no data. It is one transaction: after a failure
      # nothing of it is there. Its locks let no process open the cluster meanwhile. The folder stays as it is.
      #
      # @api private
      class Import
        # Bytes of the rows, and number of the counts, that one statement copies.
        ROWS_BYTES = 1024**2
        COUNTS = 2000
        # Limits of the connection.
        BOUNDS = { connections_max: 1, query_seconds: 3600 }.freeze
        # Tables of a process on the folder, which a cluster does not have.
        LEFT_OUT = [Ownership::TABLE].freeze
        # Interval of reports while a table is copied.
        REPORT_SECONDS = 5

        LOCK = "LOCK TABLE elah_cluster, elah_writers, elah_shards, elah_rows, elah_counts IN ACCESS EXCLUSIVE MODE"
        EMPTY = "SELECT NOT EXISTS (SELECT FROM elah_rows) AND NOT EXISTS (SELECT FROM elah_counts)"
        WRITERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'elah writer'"
        INSERT_ROWS = "INSERT INTO elah_rows (tbl, key, value, expires_at) SELECT $1::int, * FROM unnest($2::bytea[], $3::bytea[], $4::bigint[])"
        INSERT_COUNTS = "INSERT INTO elah_counts (tbl, key, count) SELECT $1::int, * FROM unnest($2::bytea[], $3::bigint[])"
        STORED_ROWS = "SELECT count(*), coalesce(sum(length(key) + length(value)), 0)::bigint FROM elah_rows WHERE tbl = $1"
        STORED_COUNTS = "SELECT count(*), coalesce(sum(count), 0)::text FROM elah_counts WHERE tbl = $1"
        private_constant :LOCK, :EMPTY, :WRITERS, :INSERT_ROWS, :INSERT_COUNTS, :STORED_ROWS, :STORED_COUNTS

        # The numbers of what was copied.
        #
        # @attr_reader [Integer] tables
        # @attr_reader [Integer] entries of the tables
        # @attr_reader [Integer] bytes of their keys and values
        # @attr_reader [Integer] counters
        # @attr_reader [Integer] counts
        Report = Struct.new(:tables, :entries, :bytes, :counters, :counts)

        # @param folder [String] of one store
        # @param identity [String] by which the references that are stored there find their class
        # @param url [String] of the database
        # @param shards [Integer] the option
        def initialize(folder, identity, url, shards)
          @folder = folder
          @identity = identity
          @url = Cluster.primary(url)
          @shards = shards
        end

        # @yieldparam name [String] of a table, or of counters
        # @yieldparam done [Integer] how many of its entries are copied
        # @yieldparam total [Integer]
        # @return [Report]
        # @raise [InUse] when a process has the folder open, or takes part in the cluster
        # @raise [OtherShards] when the folder's entities, or the cluster, have another number of shards than the option
        # @raise [CannotOpen] when the cluster has data, or the folder is no store
        # @raise [InvalidKey] when a name cannot be one on a cluster
        def run(&progress)
          @export = Export.open(@folder)
          check_shards
          @tables = @export.tables.each_with_index.reject { |(name, _, _), _| LEFT_OUT.include?(name) }
          @tables.each { |(name, _, _), _| Limits.name(name) }
          database = Database.new(@url, BOUNDS)
          database.write { |sql| Schema.create_alone(sql, @shards) { |tx| copy(tx, &progress) } }
        ensure
          database&.close
          @export&.close
        end

        private

        def check_shards
          stored = @export.shards
          return if stored.nil? || stored == @shards

          raise OtherShards, "The entities in #{@folder} are divided into #{stored} shards for good, and the option shards is #{@shards}: set it " \
                             "to #{stored} here and on each machine."
        end

        def copy(transaction, &progress)
          check_unused(transaction)
          @report = Report.new(0, 0, 0, 0, 0)
          @tables.each { |(name, is_counter, total), position| copy_one(transaction, position, name, is_counter, total, &progress) }
          transaction.execute("UPDATE elah_cluster SET identity = $1", @identity)
          transaction.execute(Schema::FENCE) # of processes that were killed
          @report
        end

        def check_unused(transaction)
          writers = transaction.value(WRITERS)
          raise InUse, "#{writers} processes take part in the cluster: stop every server that uses it to import a folder." if writers.positive?

          transaction.execute("SET LOCAL lock_timeout = '10s'")
          transaction.execute(LOCK)
          return if transaction.value(EMPTY)

          raise CannotOpen, "The cluster has data already, and a folder is imported into an empty one: name a new database."
        end

        def copy_one(transaction, position, name, is_counter, total, &progress)
          id = number(transaction, name, is_counter)
          report = reporter(name, total, &progress)
          copied = is_counter ? copy_counts(transaction, position, id, report) : copy_rows(transaction, position, id, report)
          check(name, [total, *copied], [copied.first, *transaction.rows(is_counter ? STORED_COUNTS : STORED_ROWS, id).first])
          yield name, copied.first, total
          is_counter ? add(counters: 1, counts: copied.first) : add(tables: 1, entries: copied.first, bytes: copied.last)
        end

        def number(transaction, name, is_counter)
          relation = is_counter ? "elah_counters" : "elah_tables"
          transaction.execute("INSERT INTO #{relation} (name) VALUES ($1) ON CONFLICT (name) DO NOTHING", name)
          transaction.value("SELECT tbl FROM #{relation} WHERE name = $1", name)
        end

        # @return [Array(Integer, Integer)] entries and bytes
        def copy_rows(transaction, position, id, report)
          entries = bytes = 0
          each_batch(:rows, position, ROWS_BYTES) do |batch|
            keys, values, expiries = batch.transpose
            transaction.execute(INSERT_ROWS, id, keys, values, expiries)
            bytes += keys.sum(&:bytesize) + values.sum(&:bytesize)
            report.call(entries += batch.size)
          end
          [entries, bytes]
        end

        # @return [Array(Integer, String)] counts, and their sum
        def copy_counts(transaction, position, id, report)
          counts = sum = 0
          each_batch(:counts, position, COUNTS) do |batch|
            keys, numbers = batch.transpose
            transaction.execute(INSERT_COUNTS, id, keys, numbers)
            sum += numbers.sum
            report.call(counts += batch.size)
          end
          [counts, sum.to_s]
        end

        def each_batch(read, position, limit)
          last = nil
          until (batch = @export.public_send(read, position, last, limit)).empty?
            yield batch
            last = batch.last.first
          end
        end

        # Reports every {REPORT_SECONDS}.
        def reporter(name, total)
          told_at = Concurrency.now
          lambda do |done|
            next if Concurrency.now < told_at + REPORT_SECONDS

            told_at = Concurrency.now
            yield name, done, total
          end
        end

        def check(name, expected, stored)
          return if expected == stored

          raise Error, "#{name} was not copied whole, so nothing was imported: the folder has #{expected.first} entries, #{stored.first} were " \
                       "read, and the database has #{stored[1]}."
        end

        def add(**numbers) = numbers.each { |name, number| @report[name] += number }
      end
    end
  end
end
