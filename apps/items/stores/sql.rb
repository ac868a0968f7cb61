# frozen_string_literal: true

require_relative "../errors"
require_relative "../item"
require_relative "../slots"
require_relative "sql/tables"
require_relative "sql/writing"

module Items
  module Stores
    # The items in PostgreSQL, MariaDB or MySQL. The tables are created at the first use, so that the app starts while the server
    # is down.
    class SQL
      LOOK = "SELECT c.total, i.document FROM item_totals c LEFT JOIN items i ON i.position = ? WHERE c.scope = ''"
      LOOK_TAG = "SELECT c.total, i.document FROM item_totals c LEFT JOIN item_tags t ON t.tag = c.scope AND t.position = ? " \
                 "LEFT JOIN items i ON i.id = t.item_id WHERE c.scope = ?"
      TOTAL = "SELECT total FROM item_totals WHERE scope = ?"
      NONE = [0, nil].freeze

      # @param config [Elah::Config]
      # @return [SQL]
      def self.open(config) = new(Elah::SQL.new(config.store))

      # @param sql [Elah::SQL]
      def initialize(sql)
        @client = sql
        @making = Mutex.new
      end

      # (see Embedded#size)
      def size(scope = Slots::ALL) = sql.value(TOTAL, scope) || 0

      # The single look-up of a draw: one statement, so count and item are read at one moment.
      #
      # @param position [Integer]
      # @param scope [String] "" for all items, or a tag
      # @return [Array(Integer, (String, nil))] the number of items, and the document of the one at the position
      def fetch(position, scope = Slots::ALL)
        (scope.empty? ? sql.rows(LOOK, position) : sql.rows(LOOK_TAG, position, scope)).first || NONE
      end

      # (see Embedded#fetch_many)
      def fetch_many(positions, scope = Slots::ALL)
        slots = Writing.fill(positions)
        rows = scope.empty? ? sql.rows(look_all(slots.size), *slots) : sql.rows(look_tag(slots.size), *slots, scope)
        documents = rows.to_h { |_, position, document| [position, document] }
        [rows.empty? ? 0 : rows[0][0], positions.map { |position| documents[position] }]
      end

      # (see Embedded#find)
      def find(uuid) = (sql.value("SELECT document FROM items WHERE uuid = ?", uuid) if uuid.match?(Item::UUID))

      # (see Embedded#page)
      def page(after:, limit:, scope: Slots::ALL)
        rows = if scope.empty?
                 sql.rows("SELECT id, document FROM items WHERE id > ? ORDER BY id LIMIT ?", after, limit)
               else
                 sql.rows("SELECT i.id, i.document FROM item_tags t JOIN items i ON i.id = t.item_id " \
                          "WHERE t.tag = ? AND t.item_id > ? ORDER BY t.item_id LIMIT ?", scope, after, limit)
               end
        [rows.map(&:last), (rows.last.first if rows.size == limit)]
      end

      # (see Embedded#insert)
      def insert(items, loaded: nil)
        write { |writing| writing.insert(items, loaded) }
      rescue Elah::SQL::UniqueViolation
        repeated = items.find { |item| find(item.uuid) } || items.first
        raise Duplicate, repeated.uuid
      end

      # (see Embedded#delete)
      def delete(uuids)
        known = uuids.uniq.grep(Item::UUID)
        known.empty? ? 0 : write { |writing| writing.delete(known) }
      end

      # @return [Integer] how many items the loader has stored
      def loaded = size(Tables::LOADED)

      private

      # Each statement sees what is committed, so a read after the lock sees the last writer's result.
      def write
        sql.transaction(isolation: :read_committed) { |tx| yield Writing.new(tx, Tables.put_total(sql.postgres?)) }
      end

      def look_all(size)
        "SELECT c.total, i.position, i.document FROM item_totals c LEFT JOIN items i ON i.position IN (#{Writing.marks(size)}) WHERE c.scope = ''"
      end

      def look_tag(size)
        "SELECT c.total, t.position, i.document FROM item_totals c " \
          "LEFT JOIN item_tags t ON t.tag = c.scope AND t.position IN (#{Writing.marks(size)}) " \
          "LEFT JOIN items i ON i.id = t.item_id WHERE c.scope = ?"
      end

      def sql
        @made || @making.synchronize { @made ||= @client.tap { |client| Tables.create(client) } }
      end
    end
  end
end
