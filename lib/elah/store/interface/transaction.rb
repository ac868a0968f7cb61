# frozen_string_literal: true

module Elah
  class Store
    module Interface
      # The calls of a transaction that are the same in a folder and on a cluster. A class that includes it has `write_entry`, `read_range`,
      # `change_count` and `add_to_count`.
      module Transaction
        # Says which keys the block is about to read, or to write with {#put_new} or {#delete}. On a cluster they are read in one round trip, instead
        # of one each. In a folder it does nothing.
        #
        # @param _tables_and_keys [Array<Elah::Store::Interface::Table, String>] a table of this store, a key, and so on
        # @return [nil]
        def preload(*_tables_and_keys) = nil

        # @param table [Elah::Store::Interface::Table]
        # @param (see Elah::Store::Interface::Table#put)
        # @return [true]
        def put(table, key, value, ttl: nil) = write_entry(table, key, value, ttl && Store.milliseconds(ttl), false)

        # @param table [Elah::Store::Interface::Table]
        # @param (see Elah::Store::Interface::Table#put)
        # @return [Boolean] whether the key had no value
        def put_new(table, key, value, ttl: nil) = write_entry(table, key, value, ttl && Store.milliseconds(ttl), true)

        # Adds to a counter and reads it, so another write to the same key causes a retry.
        #
        # @param counter [Elah::Store::Counter, Elah::Store::Cluster::Counter]
        # @param key [String]
        # @param by [Integer]
        # @param max [Integer, nil]
        # @return [Integer, nil] the new value; nil when it would have passed `max`
        def increment(counter, key, by: 1, max: nil) = change_count(counter, key, by, max)

        # Adds to a counter without reading it, which never causes a retry.
        #
        # @param counter [Elah::Store::Counter, Elah::Store::Cluster::Counter]
        # @param key [String]
        # @param by [Integer]
        # @return [nil]
        def add(counter, key, by: 1) = add_to_count(counter, key, by)

        # A range of a table, including the writes of this transaction. Entries that others add or delete before the commit cause a retry.
        #
        # @param table [Elah::Store::Interface::Table]
        # @param (see Elah::Store::Interface::Table#range)
        # @return (see Elah::Store::Interface::Table#range)
        def range(table, prefix: nil, from: nil, to: nil, after: nil, limit: Store::Table::LIMIT, reverse: false)
          read_range(table, [prefix, from, to, after], Store.limit(limit), reverse)
        end
      end
    end
  end
end
