# frozen_string_literal: true

require_relative "../database"

module Items
  # Items in tables.
  class Rows
    class Item < ActiveRecord::Base
      has_many :places, dependent: nil
    end

    # Where an item stands in a scope.
    class Place < ActiveRecord::Base
      belongs_to :item
    end

    # How many items a scope has.
    class Scope < ActiveRecord::Base
      self.primary_key = :name
    end

    LOOK = <<~SQL
      SELECT s.total, i.document FROM scopes s LEFT JOIN places p ON p.scope = s.name AND p.position = ? LEFT JOIN items i ON i.id = p.item_id
      WHERE s.name = ?
    SQL

    def initialize(folder, threads)
      Database.open(folder, "items", threads) do
        create_table(:items) do |table|
          table.string :uuid, null: false, index: { unique: true }
          table.text :document, null: false
        end
        create_table(:scopes, id: false) do |table|
          table.string :name, primary_key: true
          table.integer :total, null: false
        end
        create_table(:places) do |table|
          table.string :scope, null: false
          table.integer :position, null: false
          table.references :item, null: false
          table.index %i[scope position], unique: true
        end
      end
    end

    # @return [Array(Integer, String)] how many items the scope has, and the document at a position, or nil
    def look(scope, position) = Database.rows(LOOK, position, scope).first&.values_at("total", "document") || [0, nil]

    # @return [String, nil] the document
    def find(uuid) = Item.where(uuid: uuid).pick(:document)

    # Stores an item at the end of its scopes.
    # @yieldparam id [Integer]
    # @yieldreturn [String] the document
    # @return [String] the document
    def insert(uuid, scopes)
      Database.write do
        item = Item.create!(uuid: uuid, document: "")
        item.update!(document: yield(item.id))
        scopes.each { |scope| Place.insert!({ scope: scope, position: grow(scope), item_id: item.id }) }
        item.document
      end
    end

    # @return [Boolean] whether it was there
    def delete(uuid)
      Database.write do
        item = Item.find_by(uuid: uuid) or next false
        item.places.each { |place| close(place) }
        item.delete && true
      end
    end

    private

    # @return [Integer] the position of the scope's next item
    def grow(scope)
      Scope.insert_all([{ name: scope, total: 0 }]) # unless it is there
      Scope.where(name: scope).update_all("total = total + 1")
      Scope.where(name: scope).pick(:total) - 1
    end

    # Takes a place away; the scope's last item moves into the hole.
    def close(place)
      last = Scope.lock.where(name: place.scope).pick(:total) - 1
      place.delete
      Place.where(scope: place.scope, position: last).update_all(position: place.position)
      Scope.where(name: place.scope).update_all(total: last)
    end
  end
end
