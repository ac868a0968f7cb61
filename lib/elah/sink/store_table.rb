# frozen_string_literal: true

module Elah
  class Sink
    # A destination: a table of an {Elah::Store}. The key is the ID of an event, so a repeated event is stored once, and keys are in time order.
    class StoreTable
      # @param store [Elah::Store]
      # @param name [String] of the table
      def initialize(store, name)
        @store = store
        @table = store.table(name)
      end

      # Stores a batch in one transaction.
      #
      # @param events [Array<Event>]
      # @return [void]
      def deliver(events)
        @store.transaction { |tx| events.each { |event| tx.put_new(@table, event.id, event.bytes) } }
      end
    end
  end
end
