# frozen_string_literal: true

module Leaderboards
  module Boards
    # Owns the reading of rows that a board writes, also while they are on their way to the disk, without waiting for it: what waits in a call
    # holds up the board, and can be given up in the middle.
    class Rows
      # Writes between two looks at which rows have arrived.
      LOOK_EVERY = 1024

      # @param index [Elah::Entity::Index] to write
      # @param table [Elah::Store::Table] the same, to read
      def initialize(index, table)
        @index = index
        @table = table
        @unsettled = {}
        @writes = 0
      end

      # @param key [String]
      # @return [String, nil]
      def get(key) = @unsettled.fetch(key) { @table.get(key) }

      # @param key [String]
      # @param value [String]
      # @param ttl [Numeric, nil] seconds
      def put(key, value, ttl: nil)
        @index.put(key, value, ttl: ttl)
        note(key, value)
      end

      # @param key [String]
      def delete(key)
        @index.delete(key)
        note(key, nil)
      end

      # @param prefix [String]
      # @return [Boolean] whether there are rows on the disk
      def any?(prefix) = @table.range(prefix: prefix, limit: 1).any?

      private

      # Behind one that is under way there may be one that has arrived; it stays a little longer.
      def note(key, value)
        @unsettled.delete(key)
        @unsettled[key] = value
        return unless ((@writes += 1) % LOOK_EVERY).zero?

        while (key, value = @unsettled.first)
          return unless @table.get(key) == value

          @unsettled.shift
        end
      end
    end
  end
end
