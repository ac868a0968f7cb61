# frozen_string_literal: true

module Leaderboards
  module Boards
    # Reads rows that a board writes, including pending ones, without waiting. A wait inside a call would block the board, and
    # could be cancelled in the middle.
    class Rows
      # Writes between two checks for stored rows.
      LOOK_EVERY = 1024

      # @param index [Elah::Entity::Index] to write
      # @param table [Elah::Store::Table] the same, to read
      # @param clock [#now] seconds since 1970
      def initialize(index, table, clock)
        @index = index
        @table = table
        @clock = clock
        @unsettled = {}
        @writes = 0
      end

      # @param key [String]
      # @return [String, nil]
      def get(key)
        value, ends_at = @unsettled.fetch(key) { return @table.get(key) }
        value unless ended?(ends_at)
      end

      # @param key [String]
      # @param value [String]
      # @param ttl [Numeric, nil] seconds
      def put(key, value, ttl: nil)
        @index.put(key, value, ttl: ttl)
        note(key, value, ttl && (@clock.now + ttl))
      end

      # @param key [String]
      def delete(key)
        @index.delete(key)
        note(key, nil, nil)
      end

      # @param prefix [String]
      # @return [Boolean] whether there are rows on the disk
      def any?(prefix) = @table.range(prefix: prefix, limit: 1).any?

      private

      # A stored row may follow a pending one; it stays a little longer.
      def note(key, value, ends_at)
        @unsettled.delete(key)
        @unsettled[key] = [value, ends_at]
        return unless ((@writes += 1) % LOOK_EVERY).zero?

        while (key, (value, ends_at) = @unsettled.first)
          return unless ended?(ends_at) || @table.get(key) == value

          @unsettled.shift
        end
      end

      def ended?(ends_at) = ends_at && ends_at <= @clock.now
    end
  end
end
