# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # The reads and writes of a transaction as the arguments of {Schema::COMMIT}.
      class Commit
        # Keys of one table that are locked each by itself; more of them lock the table.
        LOCKED_KEYS_MAX = 64
        # As {LOCKED_KEYS_MAX}, of all tables. The database has a table of locks for all sessions, with room for 6,400 by default.
        LOCKED_KEYS_OF_ALL_MAX = 512
        # Of the values together: the statement has them in hexadecimal digits.
        BYTES_MAX = 256 * 1024**2
        # No row, and no call, when a number is not that of its name.
        KNOWN = "NOT EXISTS (SELECT FROM unnest($%d::int[], $%d::text[]) AS k (tbl, name) LEFT JOIN %s t USING (tbl, name) WHERE t.tbl IS NULL)"
        CALL = "SELECT elah_commit_1(#{(1..23).map { |number| "$#{number}" }.join(', ')}) WHERE #{format(KNOWN, 24, 25, 'elah_tables')} " \
               "AND #{format(KNOWN, 26, 27, 'elah_counters')}".freeze

        # @param reads [ReadSet]
        # @param entries [Hash{Table=>Hash{String=>Transaction::Entry}}] pending writes
        # @param changes [Hash{Counter=>Hash{String=>Transaction::Change}}]
        def initialize(reads, entries, changes)
          @reads = reads
          @ids = Hash.new { |ids, owner| ids[owner] = owner.id }.compare_by_identity # another transaction may forget them meanwhile
          @puts, @gone = flat(entries).partition { |_, _, entry| entry.value }
          @counts = flat(changes)
          @tables = [*entries.keys, *reads.ranges.map(&:table)].uniq
          @counters = [*changes.keys, *reads.counts.map(&:counter)].uniq
        end

        # @return [Boolean] whether it writes nothing; what it has read was of one moment
        def empty? = [@puts, @gone, @counts].all?(&:empty?)

        # @param sql [Elah::SQL]
        # @return [Boolean] whether all is stored
        def run(sql)
          bytes = @puts.sum { |_, _, entry| entry.value.bytesize }
          raise TooLarge, "A transaction with #{bytes} bytes is too large; it may have up to #{BYTES_MAX}." if bytes > BYTES_MAX

          done = sql.rows(CALL, *locks, *reads, *entries, *counts, *names(@tables), *names(@counters))
          return done.first.first if done.any?

          [*@tables, *@counters].each(&:forget)
          false
        end

        private

        def flat(tables) = tables.flat_map { |table, keys| keys.map { |key, pending| [@ids[table], key, pending] } }

        def names(owners) = [owners.map { |owner| @ids[owner] }, owners.map(&:name)]

        def columns(rows, width) = rows.empty? ? Array.new(width) { [] } : rows.transpose

        # Tables to lock alone or together with others, and keys.
        def locks
          whole, keys = keys_by_table
          parts = keys.keys - whole
          locked = parts.flat_map { |table| keys[table].map { |key, is_written| [table, key, is_written] } }
          [whole, parts, *columns(locked, 3)]
        end

        # The tables of which a range was read, or of which many keys matter, and the keys of all, with whether they are written.
        def keys_by_table
          one, wide = @reads.ranges.partition { |range| range.span.one? }
          keys = Hash.new { |tables, table| tables[table] = {} }
          one.each { |range| keys[@ids[range.table]][range.span.from] = false }
          @reads.counts.each { |count| keys[@ids[count.counter]][count.key] = false }
          [*@puts, *@gone, *@counts].each { |table, key, _| keys[table][key] = true }
          are_many = keys.sum { |_, of_table| of_table.size } > LOCKED_KEYS_OF_ALL_MAX
          [wide.map { |range| @ids[range.table] } | keys.select { |_, of_table| are_many || of_table.size > LOCKED_KEYS_MAX }.keys, keys]
        end

        def reads
          ranges = @reads.ranges.map { |range| [@ids[range.table], range.span.from, range.span.til, range.digest] }
          counts = @reads.counts.map { |count| [@ids[count.counter], count.key, count.count] }
          [*columns(ranges, 4), *columns(counts, 3)]
        end

        def entries
          gone = @gone.map { |table, key, _| [table, key] }
          puts = @puts.map { |table, key, entry| [table, key, entry.value, entry.ttl_ms] }
          [*columns(gone, 2), *columns(puts, 4)]
        end

        def counts
          reset = @counts.filter_map { |counter, key, change| [counter, key] if change.is_reset }
          added = @counts.filter_map { |counter, key, change| [counter, key, change.added] if change.added }
          [*columns(reset, 2), *columns(added, 3)]
        end
      end

      private_constant :Commit
    end
  end
end
