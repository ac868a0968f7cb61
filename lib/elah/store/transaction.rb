# frozen_string_literal: true

module Elah
  class Store
    # The argument of {Store#transaction}'s block. It holds a snapshot of the store, so the block should not wait.
    class Transaction
      include Interface::Transaction

      # @!method get(from, key)
      #   @param from [Table, Counter]
      #   @param key [String]
      #   @return [String, Integer, nil] a table's value or nil, or a counter's stored value, without increments that a process has in memory

      # @!method delete(from, key)
      #   Removes a key of a table, or resets one of a counter to 0, including the increments of this process in memory. It does not read the
      #   counter, so other increments cause no retry.
      #   @param from [Table, Counter]
      #   @param key [String]
      #   @return [Boolean, nil] whether the table had a value; nil for a counter

      alias write_entry put_native
      alias read_range range_native
      alias change_count increment_native
      alias add_to_count add_native
      alias commit commit_native
      alias give_up give_up_native
      private :put_native, :increment_native, :add_native, :range_native, :commit_native, :give_up_native,
              :write_entry, :read_range, :change_count, :add_to_count, :commit, :give_up
    end
  end
end
