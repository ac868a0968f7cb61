# frozen_string_literal: true

# Items on ActiveRecord, drawn as specs/items.md asks: each has one position among all and among those of each of its tags, without
# holes, so that a draw is one number and one statement. What rails, grape, sinatra and em_synchrony have in common.
require "active_record"
require "digest"
require "json"
require "securerandom"
require_relative "database"
require_relative "problem"

module Items
  class Item < ActiveRecord::Base
    has_many :places, dependent: nil
  end

  # Where an item stands in a scope: a tag, or the empty text for all items.
  class Place < ActiveRecord::Base
    belongs_to :item
  end

  # How many items a scope has.
  class Scope < ActiveRecord::Base
    self.primary_key = :name
  end

  module_function

  ALL = ""
  # How many items a scope had when it was last looked at. A draw out of another number is not fair, and is made again.
  TOTALS = Hash.new(1)
  LOOK = <<~SQL
    SELECT s.total, i.document FROM scopes s LEFT JOIN places p ON p.scope = s.name AND p.position = ? LEFT JOIN items i ON i.id = p.item_id
    WHERE s.name = ?
  SQL

  # @param folder [String] of the database
  # @param threads [Integer] that will use it
  def open(folder, threads)
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

  # @return [String] the document
  def random(tag)
    scope = tag || ALL
    loop do
      total = TOTALS[scope]
      found = Database.rows(LOOK, rand(total), scope).first
      raise Problem.new(404, "no_items") if found.nil? || found["total"].zero?

      TOTALS[scope] = found["total"]
      return found["document"] if found["document"] && found["total"] == total
    end
  end

  # @return [Array<String>] documents of different items
  def sample(tag, count)
    Item.transaction do
      total = total(tag || ALL)
      raise Problem.new(404, "no_items") if total.zero?

      positions = Set.new
      positions << rand(total) until positions.size == [count, total].min
      positions.map { |position| document_at(tag || ALL, position) }
    end
  end

  # @return [String] the document
  def find(uuid) = Item.where(uuid: uuid).pick(:document) || raise(Problem.new(404, "item_not_found"))

  # @return [Array<String>] uuid and document
  def create(fields)
    raise Problem.new(400, "validation_failed") unless fields["name"].is_a?(String) && !fields["name"].empty?

    uuid = SecureRandom.uuid
    tags = (fields["tags"] || []).uniq
    Database.write do
      item = Item.create!(uuid: uuid, document: "")
      item.update!(document: JSON.generate(document(item.id, uuid, fields, tags)))
      [ALL, *tags].each { |scope| Place.insert!({ scope: scope, position: grow(scope), item_id: item.id }) }
      [uuid, item.document]
    end
  end

  def delete(uuid)
    Database.write do
      item = Item.find_by(uuid: uuid) or raise Problem.new(404, "item_not_found")
      item.places.each { |place| close(place) }
      item.delete
    end
  end

  def total(scope) = Scope.where(name: scope).pick(:total) || 0
  def document_at(scope, position) = Place.where(scope: scope, position: position).joins(:item).pick(:document)

  def document(id, uuid, fields, tags)
    created_at = Time.now.utc.strftime("%Y-%m-%dT%H:%M:%S.%LZ")
    { id: id, uuid: uuid, name: fields["name"], hash_code: Digest::SHA1.hexdigest("#{fields['name']}-#{uuid}-#{created_at}"), created_at: created_at,
      description: fields["description"] || "", tags: tags }
  end

  # @return [Integer] the position of the scope's next item
  def grow(scope)
    Scope.insert_all([{ name: scope, total: 0 }]) # unless it is there
    Scope.where(name: scope).update_all("total = total + 1")
    total(scope) - 1
  end

  # Takes a place away; the scope's last item moves into the hole.
  def close(place)
    last = Scope.lock.where(name: place.scope).pick(:total) - 1
    place.delete
    Place.where(scope: place.scope, position: last).update_all(position: place.position)
    Scope.where(name: place.scope).update_all(total: last)
  end
end
