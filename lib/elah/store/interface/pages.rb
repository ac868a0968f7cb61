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
        #   @yieldparam entry [Array(String, String)] key and value
        #   @return [void]
        # @overload each(batch: Store::Table::LIMIT, **conditions)
        #   @param batch [Integer]
        #   @param conditions [Hash{Symbol=>String, Boolean, nil}]
        #   @return [Enumerator<Array(String, String)>]
        def each(batch: Store::Table::LIMIT, **conditions, &block)
          return enum_for(:each, batch: batch, **conditions) unless block

          Store.limit(batch, name: "batch", least: 1)
          raise ArgumentError, "each has no limit: take each.first(n), or a range." if conditions.key?(:limit)

          while true # `loop` would rescue the block's StopIteration
            entries = range(limit: batch, **conditions)
            conditions[:after] = entries.last&.first.dup # the block may change what it gets
            entries.each(&block)
            break if entries.size < batch
          end
        end
      end
    end
  end
end
