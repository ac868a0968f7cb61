# frozen_string_literal: true

module Elah
  class Store
    module Interface
      # All entries of a range, for a class with `range(limit:, **conditions)`.
      module Pages
        # Yields every entry of a range, read page by page: a concurrent write is visible if its key is still ahead.
        #
        # @overload each(batch: Store::Table::LIMIT, **conditions, &block)
        #   @param batch [Integer] number of entries read at once, from 1
        #   @param conditions [Hash{Symbol=>String, Boolean, nil}] `prefix`, `from`, `to`, `after` and `reverse` as in {#range}
        #   @yieldparam key [String]
        #   @yieldparam value [String]
        #   @return [void]
        # @overload each(batch: Store::Table::LIMIT, **conditions)
        #   @param batch [Integer]
        #   @param conditions [Hash{Symbol=>String, Boolean, nil}]
        #   @return [Enumerator<Array(String, String)>]
        def each(batch: Store::Table::LIMIT, **conditions)
          return enum_for(:each, batch: batch, **conditions) unless block_given?

          Store.limit(batch, name: "batch", least: 1)
          loop do
            entries = range(limit: batch, **conditions)
            entries.each { |key, value| yield key, value }
            break if entries.size < batch

            conditions[:after] = entries.last.first
          end
        end
      end
    end
  end
end
