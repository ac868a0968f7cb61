# frozen_string_literal: true

module Elah
  class Sink
    # A table of an {Elah::Store} as a destination: the id of an event is its key, so that one that comes twice is there once, and the
    # keys are in the order of time.
    class StoreTable
      # @param store [Elah::Store]
      # @param name [String] of the table
      def initialize(store, name)
        @store = store
        @table = store.table(name)
      end

      # Stores a batch together.
      #
      # @param events [Array<Event>]
      # @return [void]
      def deliver(events)
        @store.transaction { |tx| events.each { |event| tx.put_new(@table, event.id, event.bytes) } }
      end
    end
  end
end
