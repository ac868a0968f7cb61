# frozen_string_literal: true

module Elah
  class Store
    # The argument of {Store#transaction}'s block. It holds a snapshot of the store, so the block should not wait.
    class Transaction
      # @!method get(from, key)
      #   @param from [Table, Counter]
      #   @param key [String]
      #   @return [String, Integer, nil] a table's value or nil, or a counter's stored value, without increments that a process has in memory

      # @param table [Table]
      # @param (see Table#put)
      # @return [true]
      def put(table, key, value, ttl: nil) = put_native(table, key, value, ttl && Store.milliseconds(ttl), false)

      # @param table [Table]
      # @param (see Table#put)
      # @return [Boolean] whether the key had no value
      def put_new(table, key, value, ttl: nil) = put_native(table, key, value, ttl && Store.milliseconds(ttl), true)

      # @!method delete(from, key)
      #   Removes a key of a table, or resets one of a counter to 0, including the increments of this process in memory. It does not read the
      #   counter, so other increments cause no retry.
      #   @param from [Table, Counter]
      #   @param key [String]
      #   @return [Boolean, nil] whether the table had a value; nil for a counter

      # Adds to a counter and reads it, so another write to the same key causes a retry.
      #
      # @param counter [Counter]
      # @param key [String]
      # @param by [Integer]
      # @param max [Integer, nil]
      # @return [Integer, nil] the new value; nil when it would have passed `max`
      def increment(counter, key, by: 1, max: nil) = increment_native(counter, key, by, max)

      # Adds to a counter without reading it, which never causes a retry.
      #
      # @param counter [Counter]
      # @param key [String]
      # @param by [Integer]
      # @return [nil]
      def add(counter, key, by: 1) = add_native(counter, key, by)

      # A range of a table, including the writes of this transaction. Entries that others add or delete before the commit cause a retry.
      #
      # @param table [Table]
      # @param (see Table#range)
      # @return (see Table#range)
      def range(table, prefix: nil, from: nil, to: nil, after: nil, limit: Table::LIMIT, reverse: false)
        range_native(table, [prefix, from, to, after], Store.limit(limit), reverse)
      end

      private :put_native, :increment_native, :add_native, :range_native, :commit_native, :give_up_native
    end
  end
end
