# frozen_string_literal: true

require "digest/sha2"

module Elah
  class Store
    class Cluster
      # One attempt at a transaction of a cluster; its methods are those of {Elah::Store::Transaction}. It reads one snapshot of the database and
      # collects its writes. The commit is one statement, which checks that the reads still hold: see {Schema::COMMIT}.
      class Transaction
        include Interface::Transaction

        # A table's pending write; a value of nil deletes.
        Entry = Struct.new(:value, :ttl_ms)
        # A counter's pending change: an optional reset, then an optional addition.
        Change = Struct.new(:is_reset, :added)
        private_constant :Entry, :Change

        # @api private
        def initialize(store)
          @store = store
          @reads = ReadSet.new
          @handles = { Table => {}, Counter => {} }
          @entries = Hash.new { |tables, table| tables[table] = {} }
          @changes = Hash.new { |counters, counter| counters[counter] = {} }
          @preloaded = {}
          @beginning = Mutex.new
          @is_open = true
        end

        # Reads keys in one round trip, which the block is about to read, or to write with {#put_new} or {#delete}.
        #
        # @param tables_and_keys [Array<Elah::Store::Cluster::Table, String>] a table of this store, a key, and so on
        # @return [nil]
        def preload(*tables_and_keys)
          pairs = @store.pairs(tables_and_keys).map { |table, key| [own(table, Table), Limits.key(key)] }
          pairs.reject! { |pair| @preloaded.key?(pair) }
          pairs.uniq!
          snapshot { |sql| load(sql, pairs) } if pairs.any?
          nil
        end

        # (see Elah::Store::Transaction#get)
        def get(from, key)
          key = Limits.key(key)
          from = own(from, Table, Counter)
          return count(from, key) if from.is_a?(Counter)

          stored = read(from, key) unless @entries[from].key?(key)
          pending = @entries[from][key] # another fiber may have written it meanwhile
          pending ? pending.value&.dup : stored
        end

        # (see Elah::Store::Transaction#delete)
        def delete(from, key)
          key = Limits.key(key)
          from = own(from, Table, Counter)
          if from.is_a?(Counter)
            change(from, key, Change.new(true, nil))
            return
          end
          return false if get(from, key).nil?

          pend(from, key, Entry.new(nil, nil))
          true
        end

        private

        # The numbers of tables and counters are looked up in the snapshot, and created only for the commit. So a transaction needs one connection.
        #
        # @param object [Object] what must be a table or a counter of this store
        # @return [Table, Counter] the first that this transaction has used of that name
        def own(object, *classes)
          check_open
          case object
          when *classes then return @handles[object.class][object.name] ||= object if @store.same?(object.store)
          when Store::Table, Store::Counter then nil
          else raise TypeError, "wrong argument type #{object.class} (expected #{classes.join(' or ')})"
          end
          raise Error, "#{object.name.inspect} belongs to another store than this transaction."
        end

        # The transaction may end while a fiber of its block waits here.
        def snapshot
          snapshot = @snapshot || @beginning.synchronize { @snapshot ||= begin_snapshot }
          value = @store.database.read { yield snapshot }
          check_open
          value
        end

        def begin_snapshot
          begun = @store.database.read { |sql| sql.begin(isolation: :repeatable_read, first: Schema::TAKE_TIME) }
          return begun if @is_open

          begun.roll_back
          check_open
        end

        def check_open = @is_open || raise(Closed, "The transaction is over.")

        def read(table, key)
          span = Span.only(key)
          entries = preloaded(table, key) || snapshot { |sql| table.read_span(sql, span, 1, false, Schema::WAS_LIVE) }
          @reads.note_entries(table, span, entries)
          check_size
          entries.first&.last
        end

        def load(sql, pairs)
          values = sql.rows(VALUES_WERE_AT, pairs.map { |table, _| table.name }, pairs.map(&:last)).flatten(1)
          @preloaded.update(pairs.zip(values).to_h)
        end

        # What {#read} would find; nil for a key that it has to look for.
        def preloaded(table, key)
          value = @preloaded.fetch([table, key]) { return }
          value ? [[key, value.dup]] : []
        end

        def write_entry(table, key, value, ttl_ms, only_new)
          table = own(table, Table)
          key = Limits.key(key)
          value = Limits.value(value)
          return false if only_new && get(table, key)

          pend(table, key, Entry.new(value, ttl_ms))
          true
        end

        def pend(table, key, entry)
          @entries[table][key] = entry
          check_size
        end

        def read_range(table, conditions, limit, is_reverse)
          table = own(table, Table)
          span = Span.of(conditions, is_reverse)
          return [] if span.empty? || limit.zero?

          pending = @entries[table].select { |key, _| span.cover?(key) }
          gone = pending.count { |_, entry| entry.value.nil? }
          stored = snapshot { |sql| table.read_span(sql, span, [limit + gone, Limits::INTEGERS.max].min, is_reverse, Schema::WAS_LIVE) }
          merged = merge(stored, pending, limit, is_reverse)
          note_range(table, span, stored, merged, limit, is_reverse)
          merged
        end

        def merge(stored, pending, limit, is_reverse)
          return stored.first(limit) if pending.empty?

          merged = stored.reject { |key, _| pending.key?(key) }
          pending.each { |key, entry| merged << [key.dup, entry.value.dup] if entry.value }
          merged.sort_by!(&:first)
          merged.reverse! if is_reverse
          merged.first(limit)
        end

        # What comes after the last entry of a full page does not matter.
        def note_range(table, span, stored, merged, limit, is_reverse)
          span = span.up_to(merged.last.first, is_reverse) if merged.size == limit
          @reads.note_entries(table, span, stored.select { |key, _| span.cover?(key) }.sort_by(&:first))
          check_size
        end

        def count(counter, key)
          unless @changes[counter][key]&.is_reset
            stored = snapshot { |sql| counter.count(sql, key) }
            @reads.note_count(counter, key, stored)
          end
          change = @changes[counter][key] # another fiber may have changed it meanwhile
          return change.added || 0 if change&.is_reset

          ((stored || 0) + (change&.added || 0)).clamp(Limits::INTEGERS.min, Limits::INTEGERS.max)
        end

        def change_count(counter, key, by, max)
          counter = own(counter, Counter)
          key = Limits.key(key)
          by = Limits.integer("by", by)
          value = count(counter, key)
          sum = value + by
          raise counter.overflow(key, by, value) unless Limits::INTEGERS.cover?(sum)
          return if max && sum > Limits.integer("max", max)

          add_to_count(counter, key, by)
          sum
        end

        def add_to_count(counter, key, by)
          counter = own(counter, Counter)
          key = Limits.key(key)
          by = Limits.integer("by", by)
          known = @changes[counter][key]
          added = known&.added || 0
          raise counter.overflow(key, by, added) unless Limits::INTEGERS.cover?(added + by)

          change(counter, key, Change.new(known&.is_reset, added + by))
          nil
        end

        def change(counter, key, change)
          @changes[counter][key] = change
          check_size
        end

        def check_size
          operations = @reads.size + @entries.sum { |_, keys| keys.size } + @changes.sum { |_, keys| keys.size }
          return if operations <= Limits::OPERATIONS_MAX

          raise TooLarge, "A transaction with #{operations} operations is too large; it may have up to #{Limits::OPERATIONS_MAX}."
        end

        # False if another write came in between.
        def commit
          check_open
          give_up
          commit = Commit.new(@reads, @entries, @changes)
          commit.empty? || @store.database.write { |sql| commit.run(sql) }
        rescue Conflict
          false
        rescue SQL::Error
          raise overflow
        end

        # The addition that does not fit.
        def overflow
          @changes.each do |counter, keys|
            keys.each do |key, change|
              value = change.is_reset ? 0 : counter.get(key)
              return counter.overflow(key, change.added, value) unless Limits::INTEGERS.cover?(value + (change.added || 0))
            end
          end
          Overflow.new("The sum of a counter and what the transaction adds does not fit into 64 bits.")
        end

        # What was read is valid without the end of the snapshot.
        def give_up
          @is_open = false
          snapshot = @snapshot
          @snapshot = nil
          @store.database.read { snapshot.roll_back } if snapshot
        rescue Store::Error
          nil
        end
      end
    end
  end
end
