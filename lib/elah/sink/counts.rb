# frozen_string_literal: true

module Elah
  class Sink
    # The counts of accepted, delivered and dead events in a ledger: of each stream and minute, and of each stream. A row whose events are not all
    # delivered or dead is listed with the difference, so a check of the law reads only those rows, not every minute.
    class Counts
      # The minute under which those older than the kept ones are added up.
      EARLIER = 0
      # Rows of a transaction, if all of them need not change at once, and rows that are read at once.
      ROWS_AT_ONCE = 500
      ZERO = [0, 0, 0].freeze
      private_constant :ZERO

      # Changes of counts, for {#add}.
      #
      # @return [Hash{Array(String, Integer)=>Array(Integer, Integer, Integer)}] accepted, delivered and dead events by stream and minute
      def self.changes = Hash.new { |all, row| all[row.freeze] = [0, 0, 0] }

      # @param store [Elah::Store]
      def initialize(store)
        @minutes = store.table("minutes")
        @streams = store.table("streams")
        @differences = store.table("differences")
      end

      # @param tx [Elah::Store::Transaction]
      # @param changes [Hash] as of {Counts.changes}
      # @return [void]
      def add(tx, changes)
        add_to_minutes(tx, changes)
        sums = Counts.changes
        changes.each { |(stream, _), counts| sums[[stream, EARLIER]].map!.with_index { |sum, index| sum + counts[index] } }
        sums.each { |row, counts| add_to(tx, @streams, key(*row), counts) }
      end

      # Adds up some of the minutes before this one.
      #
      # @param tx [Elah::Store::Transaction]
      # @param minute [Integer]
      # @return [Integer] how many rows
      def aggregate_some(tx, minute)
        old = tx.range(@minutes, from: key("", EARLIER + 1), to: key("", minute), limit: ROWS_AT_ONCE)
        sums = Counts.changes
        old.each do |key, value|
          sums[[key.byteslice(4..), EARLIER]].map!.with_index { |sum, index| sum + counts(value)[index] }
          tx.delete(@minutes, key)
          tx.delete(@differences, key)
        end
        add_to_minutes(tx, sums)
        old.size
      end

      # @param tx [Elah::Store::Transaction]
      # @return [Boolean] whether all events of the minutes that are added up are delivered or dead
      def earlier_settled?(tx) = tx.range(@differences, prefix: key("", EARLIER), limit: 1).empty?

      # @param tx [Elah::Store::Transaction]
      # @yieldparam stream [String]
      # @yieldparam counts [Array(Integer, Integer, Integer)]
      # @return [void]
      def each_stream(tx) = each_row(tx, @streams) { |stream, _, value| yield stream, counts(value) }

      # @param tx [Elah::Store::Transaction]
      # @yieldparam stream [String]
      # @yieldparam minute [Integer]
      # @yieldparam difference [Integer] accepted events that are neither delivered nor dead; never 0
      # @return [void]
      def each_difference(tx) = each_row(tx, @differences) { |stream, minute, value| yield stream, minute, value.unpack1("q>") }

      # @param tx [Elah::Store::Transaction]
      # @param from [Integer] the earliest minute, from 1
      # @yieldparam stream [String]
      # @yieldparam minute [Integer] the newest first
      # @yieldparam counts [Array(Integer, Integer, Integer)]
      # @return [void]
      def each_minute(tx, from)
        each_row(tx, @minutes, from: key("", from), reverse: true) { |stream, minute, value| yield stream, minute, counts(value) }
      end

      # @param tx [Elah::Store::Transaction]
      # @return [Integer] the newest minute with a count
      def newest(tx) = tx.range(@minutes, limit: 1, reverse: true).first&.then { |key, _| key.unpack1("N") } || EARLIER

      private

      def add_to_minutes(tx, changes)
        changes.each do |row, counts|
          key = key(*row)
          before, after = add_to(tx, @minutes, key, counts)
          next if before == after

          after.zero? ? tx.delete(@differences, key) : tx.put(@differences, key, [after].pack("q>"))
        end
      end

      # @return [Array(Integer, Integer)] events that were, and are now, neither delivered nor dead
      def add_to(tx, table, key, changes)
        before = tx.get(table, key)&.then { |value| counts(value) } || ZERO
        after = before.zip(changes).map(&:sum)
        tx.put(table, key, after.pack("q>3"))
        [before, after].map { |accepted, delivered, dead| accepted - delivered - dead }
      end

      # Between two pages the caller's loop goes on.
      def each_row(tx, table, **conditions)
        loop do
          page = tx.range(table, limit: ROWS_AT_ONCE, **conditions)
          page.each { |key, value| yield key.byteslice(4..).force_encoding(Encoding::UTF_8), key.unpack1("N"), value }
          break if page.size < ROWS_AT_ONCE

          conditions[:after] = page.last.first
          sleep(0)
        end
      end

      def counts(value) = value.unpack("q>3")

      def key(stream, minute) = [minute].pack("N") + stream.b
    end
  end
end
