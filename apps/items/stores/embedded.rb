# frozen_string_literal: true

require_relative "../errors"
require_relative "../item"
require_relative "../slots"

module Items
  # The stores of items. All have the public methods of {Embedded}.
  module Stores
    # The items in the embedded store. A scope is "" for all items, or a tag:
    #
    #     documents position => JSON, which a draw reads
    #     ids       uuid => id
    #     places    scope, 0, id => position
    #     slots     tag, 0, position => id
    #     counts    scope => number of its items
    #     service   "next_id", "loaded" => number
    #
    # IDs and numbers have 8 bytes, big endian, so the keys are in their order.
    class Embedded
      NEXT_ID = "next_id"
      LOADED = "loaded"
      # Keys are never empty, so the scope of all items has its own name among the counts.
      ALL_COUNT = "\0"

      # @param config [Elah::Config]
      # @return [Embedded]
      def self.open(config) = new(Elah::Store.open(File.join(config.data, "items"), bytes_max: config.store_bytes_max))

      # @param store [Elah::Store]
      def initialize(store)
        @store = store
        @documents = store.table("documents")
        @ids = store.table("ids")
        @slots = store.table("slots")
        @places = store.table("places")
        @counts = store.table("counts")
        @service = store.table("service")
      end

      # @param scope [String] "" for all items, or a tag
      # @return [Integer]
      def size(scope = Slots::ALL) = number(@counts.get(count_key(scope)))

      # The single look-up of a draw.
      #
      # @param position [Integer]
      # @param scope [String] "" for all items, or a tag
      # @return [Array(Integer, (String, nil))] the number of items, and the document of the one at the position
      def fetch(position, scope = Slots::ALL)
        return @documents.at(position) if scope.empty?

        count, documents = fetch_many([position], scope)
        [count, documents.first]
      end

      # Responds with the item at a position if the number of items is exactly `count`; for a draw from all items without a String
      # for the document.
      #
      # @param position [Integer]
      # @param count [Integer]
      # @return what `request.respond` returns, or nil
      def respond(request, headers, position, count) = @documents.respond_at(request, 200, headers, position, count)

      # Like {#fetch} for many positions, all read at one moment.
      #
      # @param positions [Array<Integer>]
      # @param scope [String] "" for all items, or a tag
      # @return [Array(Integer, Array<(String, nil)>)]
      def fetch_many(positions, scope = Slots::ALL)
        @store.transaction do |tx|
          [number(tx.get(@counts, count_key(scope))), positions.map { |position| at(tx, position, scope) }]
        end
      end

      # @param uuid [String] of any form
      # @return [String, nil] the document
      def find(uuid)
        @store.transaction { |tx| tx.get(@ids, uuid)&.then { |id| of(tx, id) } } if uuid.match?(Item::UUID)
      end

      # Items in the order of their IDs.
      #
      # @param after [Integer] the last id of the page before, or 0
      # @param limit [Integer]
      # @param scope [String] "" for all items, or a tag
      # @return [Array(Array<String>, (Integer, nil))] documents, and the last id when there may be more
      def page(after:, limit:, scope: Slots::ALL)
        prefix = [scope].pack("Z*")
        @store.transaction do |tx|
          ids = tx.range(@places, prefix: prefix, after: prefix + [after].pack("Q>"), limit: limit).map { |key, _| key.byteslice(-8, 8) }
          [ids.map { |id| of(tx, id) }, (ids.last.unpack1("Q>") if ids.size == limit)]
        end
      end

      # Stores items, all or none.
      #
      # @param items [Array<Item>]
      # @param loaded [Integer, nil] the new value of {#loaded}
      # @return [Array<String>] their documents
      # @raise [Duplicate] when a uuid is taken
      def insert(items, loaded: nil)
        @store.transaction do |tx|
          next_id = [number(tx.get(@service, NEXT_ID)), 1].max
          counts = Hash.new { |known, scope| known[scope] = number(tx.get(@counts, count_key(scope))) }
          documents = items.each_with_index.map { |item, index| insert_one(tx, item, next_id + index, counts) }
          counts.each { |scope, count| tx.put(@counts, count_key(scope), [count].pack("Q>")) }
          tx.put(@service, NEXT_ID, [next_id + items.size].pack("Q>"))
          tx.put(@service, LOADED, [loaded].pack("Q>")) if loaded
          documents
        end
      end

      # Deletes items, all or none.
      #
      # @param uuids [Array<String>]
      # @return [Integer] how many of them there were
      def delete(uuids)
        @store.transaction do |tx|
          ids = uuids.uniq.select { |uuid| uuid.match?(Item::UUID) }.to_h { |uuid| [uuid, tx.get(@ids, uuid)] }.compact
          scopes(tx, ids.values).each { |scope, gone| close_holes(tx, scope, gone) }
          ids.each_key { |uuid| tx.delete(@ids, uuid) }
          ids.size
        end
      end

      # @return [Integer] how many items the loader has stored
      def loaded = number(@service.get(LOADED))

      private

      # @return [String, nil] the document of the item at a position
      def at(tx, position, scope)
        return tx.get(@documents, [position].pack("Q>")) if scope.empty?

        tx.get(@slots, [scope, position].pack("Z*Q>"))&.then { |id| of(tx, id) }
      end

      # @return [String] the document of the item of an id
      def of(tx, id) = tx.get(@documents, tx.get(@places, "\0#{id}"))

      def insert_one(tx, item, id, counts)
        key = [id].pack("Q>")
        raise Duplicate, item.uuid unless tx.put_new(@ids, item.uuid, key)

        item.tags.each { |tag| tx.put(@slots, [tag, take(tx, tag, id, counts)].pack("Z*Q>"), key) }
        item.document(id).tap { |document| tx.put(@documents, [take(tx, Slots::ALL, id, counts)].pack("Q>"), document) }
      end

      # @return [Integer] the position that the item gets in the scope
      def take(tx, scope, id, counts)
        position = counts[scope]
        tx.put(@places, [scope, id].pack("Z*Q>"), [position].pack("Q>"))
        counts[scope] = position + 1
        position
      end

      # @return [Hash{String=>Array<String>}] the ids by tag, and last by the scope of all items, whose positions lead to the documents
      def scopes(tx, ids)
        tags = ids.each_with_object(Hash.new { |known, scope| known[scope] = [] }) do |id, found|
          Elah::JSON.parse(of(tx, id))["tags"].each { |tag| found[tag] << id }
        end
        tags.merge(Slots::ALL => ids)
      end

      def close_holes(tx, scope, gone)
        count = number(tx.get(@counts, count_key(scope)))
        prefix = [scope].pack("Z*")
        holes = gone.map { |id| number(tx.get(@places, prefix + id)) }
        Slots.moves(count, holes).each { |from, to| move(tx, scope, prefix, from, to) }
        gone.each { |id| tx.delete(@places, prefix + id) }
        left = count - gone.size
        (left...count).each { |position| vacate(tx, scope, position) }
        tx.put(@counts, count_key(scope), [left].pack("Q>"))
      end

      def vacate(tx, scope, position)
        scope.empty? ? tx.delete(@documents, [position].pack("Q>")) : tx.delete(@slots, [scope, position].pack("Z*Q>"))
      end

      def move(tx, scope, prefix, from, to)
        if scope.empty?
          document = tx.get(@documents, [from].pack("Q>"))
          tx.put(@documents, [to].pack("Q>"), document)
          id = tx.get(@ids, Item.uuid_of(document))
        else
          id = tx.get(@slots, [scope, from].pack("Z*Q>"))
          tx.put(@slots, [scope, to].pack("Z*Q>"), id)
        end
        tx.put(@places, prefix + id, [to].pack("Q>"))
      end

      def count_key(scope) = scope.empty? ? ALL_COUNT : scope

      def number(bytes) = bytes ? bytes.unpack1("Q>") : 0
    end
  end
end
