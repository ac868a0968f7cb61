# frozen_string_literal: true

require "active_record"
require "elah"
require_relative "../errors"
require_relative "../item"
require_relative "../slots"
require_relative "../stores/sql/tables"

module Items
  module Stores
    # The items through ActiveRecord, in the tables of {SQL}: each can serve what the other has stored.
    class ActiveRecord
      # A row of items.
      class Row < ::ActiveRecord::Base
        self.table_name = "items"
        self.primary_key = "id"
      end

      # A row of item_tags.
      class Tag < ::ActiveRecord::Base
        self.table_name = "item_tags"
        self.primary_key = nil
      end

      # A row of item_totals.
      class Total < ::ActiveRecord::Base
        self.table_name = "item_totals"
        self.primary_key = "scope"
      end

      # The part of a client that Tables uses.
      Client = Struct.new(:connection) do
        def postgres? = connection.adapter_name == "PostgreSQL"
        def execute(statement) = connection.execute(statement)
        def value(statement) = connection.select_value(statement)
      end

      def make_tables = ::ActiveRecord::Base.connection_pool.with_connection { |connection| SQL::Tables.create(Client.new(connection)) }

      def size(scope = Slots::ALL) = Total.where(scope: scope).pick(:total) || 0

      def fetch(position, scope = Slots::ALL)
        count, documents = fetch_many([position], scope)
        [count, documents.first]
      end

      def fetch_many(positions, scope = Slots::ALL)
        Row.transaction(isolation: :repeatable_read) do
          places = scope.empty? ? nil : Tag.where(tag: scope, position: positions).pluck(:position, :item_id).to_h
          rows = places ? Row.where(id: places.values).pluck(:id, :document) : Row.where(position: positions).pluck(:position, :document)
          documents = rows.to_h
          [size(scope), positions.map { |position| documents[places ? places[position] : position] }]
        end
      end

      def find(uuid) = (Row.where(uuid: uuid).pick(:document) if uuid.match?(Item::UUID))

      def page(after:, limit:, scope: Slots::ALL)
        rows = Row.where("items.id > ?", after)
        rows = rows.joins("JOIN item_tags ON item_tags.item_id = items.id").where(item_tags: { tag: scope }) unless scope.empty?
        found = rows.order("items.id").limit(limit).pluck("items.id", "items.document")
        [found.map(&:last), (found.last.first if found.size == limit)]
      end

      def insert(items)
        write do |next_id|
          documents = items.each_with_index.map do |item, index|
            id = next_id + index
            item.tags.each { |tag| Tag.create!(tag: tag, position: take(tag), item_id: id) }
            item.document(id).tap { |document| Row.insert!({ position: take(Slots::ALL), id: id, uuid: item.uuid, document: document }) }
          end
          Total.where(scope: SQL::Tables::NEXT_ID).update_all(total: next_id + items.size)
          documents
        end
      rescue ::ActiveRecord::RecordNotUnique
        raise Duplicate, items.find { |item| find(item.uuid) }.uuid
      end

      def delete(uuids)
        write do
          Row.where(uuid: uuids.grep(Item::UUID)).pluck(:uuid).count { |uuid| delete_one(Row.find_by!(uuid: uuid)) }
        end
      end

      private

      # The row of the next ID is the lock of all writers, as in SQL.
      def write
        Row.transaction { yield Total.where(scope: SQL::Tables::NEXT_ID).lock.pick(:total) }
      end

      # @return [Integer] the position that an item of the scope gets
      def take(scope)
        Total.where(scope: scope).update_all("total = total + 1").positive? || Total.insert!({ scope: scope, total: 1 })
        size(scope) - 1
      end

      def delete_one(row)
        Elah::JSON.parse(row.document)["tags"].each do |tag|
          close_hole(Tag.where(tag: tag), Tag.where(tag: tag, item_id: row.id).pick(:position), tag)
        end
        close_hole(Row.all, row.position, Slots::ALL)
      end

      # Deletes a row and moves the last one to its position.
      def close_hole(rows, hole, scope)
        rows.where(position: hole).delete_all
        last = size(scope) - 1
        rows.where(position: last).update_all(position: hole)
        Total.where(scope: scope).update_all(total: last)
      end
    end
  end
end
