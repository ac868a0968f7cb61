# frozen_string_literal: true

require_relative "sample_items"

module Items
  # Fills a store with sample items, many per transaction. Its progress is stored with the items, so that a loader that was
  # killed, or stopped by a full disk, continues where it ended.
  class Loader
    # @param store [Stores::Embedded]
    # @param batch [Integer] items of a transaction
    def initialize(store, batch: 10_000)
      @store = store
      @batch = batch
    end

    # @param total [Integer] the number of sample items, including those of earlier runs
    # @yieldparam done [Integer] how many there are
    # @return [Integer] how many were stored now
    def run(total)
      done = first = @store.loaded
      yield done
      while done < total
        following = [done + @batch, total].min
        @store.insert((done...following).map { |number| SampleItems.item(number) }, loaded: following)
        yield done = following
      end
      [done - first, 0].max
    end
  end
end
