# frozen_string_literal: true

module Elah
  class Store
    # What the block of {Store#transaction} works with. It holds a snapshot of the store, so the block should not wait for anything.
    class Transaction
      # @!method get(from, key)
      #   @param from [Table, Counter]
      #   @param key [String]
      #   @return [String, Integer, nil] a table's value or nil, or a counter's value as it is stored: what a process still holds
      #     in memory is not in it

      # @param table [Table]
      # @param (see Table#put)
      # @return [true]
      def put(table, key, value, ttl: nil) = put_native(table, key, value, ttl && Store.milliseconds(ttl), false)

      # @param table [Table]
      # @param (see Table#put)
      # @return [Boolean] whether the key had no value
      def put_new(table, key, value, ttl: nil) = put_native(table, key, value, ttl && Store.milliseconds(ttl), true)

      # @!method delete(from, key)
      #   Removes a key of a table, or sets one of a counter back to 0, with what this process has counted in memory. A counter is
      #   not looked at, so that other increments never make the transaction run again.
      #   @param from [Table, Counter]
      #   @param key [String]
      #   @return [Boolean, nil] whether the table had a value; nil for a counter

      # Adds to a counter and looks at it, so that another write to the same key makes the transaction run again.
      #
      # @param counter [Counter]
      # @param key [String]
      # @param by [Integer]
      # @param max [Integer, nil]
      # @return [Integer, nil] the new value; nil when it would have passed `max`
      def increment(counter, key, by: 1, max: nil) = increment_native(counter, key, by, max)

      # Adds to a counter without looking at it, which never makes the transaction run again.
      #
      # @param counter [Counter]
      # @param key [String]
      # @param by [Integer]
      # @return [nil]
      def add(counter, key, by: 1) = add_native(counter, key, by)

      # A range of a table, with what this transaction has written. Entries that others add to it or take from it before the
      # transaction is committed make it run again.
      #
      # @param table [Table]
      # @param (see Table#range)
      # @return (see Table#range)
      def range(table, prefix: nil, from: nil, to: nil, after: nil, limit: Table::LIMIT, reverse: false)
        range_native(table, [prefix, from, to, after], limit, reverse)
      end

      private :put_native, :increment_native, :add_native, :range_native, :commit_native, :give_up_native
    end
  end
end
