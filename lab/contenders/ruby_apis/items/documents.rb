# frozen_string_literal: true

require_relative "../mongo_client"

module Items
  # Items behind MongoDB's protocol. A place, SCOPE/POSITION, has a copy of its item's document, and a scope its total, so that a draw is one query.
  class Documents
    # Changes of several documents, which no reader may see half of: a draw that does is made again.
    CHANGING = Mutex.new
    # The name of the last id, which is no place and no scope.
    IDS = "/ids"
    LOAD_BATCH = 1000

    def initialize(url, threads)
      database = MongoClient.open(url, threads).database
      @items = database[:items]   # _id: uuid; document, places: pairs of scope and position
      @places = database[:places] # _id: scope, with the total, or scope/position, with uuid and document
    end

    # @return [Array(Integer, String)] how many items the scope has, and the document at a position, or nil
    def look(scope, position)
      place = at(scope, position)
      found = @places.find(_id: { "$in" => [scope, place] }).to_h { |one| [one["_id"], one] }
      [found.dig(scope, "total") || 0, found.dig(place, "document")]
    end

    # @return [String, nil] the document
    def find(uuid) = @items.find(_id: uuid).first&.fetch("document")

    # Stores an item at the end of its scopes.
    # @yieldparam id [Integer]
    # @yieldreturn [String] the document
    # @return [String] the document
    def insert(uuid, scopes)
      CHANGING.synchronize do
        document = yield count(IDS, 1)
        positions = scopes.map { |scope| [scope, count(scope, 1) - 1] }
        @items.insert_one(_id: uuid, document: document, places: positions)
        @places.insert_many(positions.map { |scope, position| { _id: at(scope, position), uuid: uuid, document: document } })
        document
      end
    end

    # @return [Boolean] whether it was there
    def delete(uuid)
      CHANGING.synchronize do
        item = @items.find(_id: uuid).first or return false
        item["places"].each { |scope, position| close(scope, position) }
        @items.delete_one(_id: uuid)
        true
      end
    end

    # Stores many items at once, as so many {#insert} would.
    # @param documents [Enumerable<String>]
    def load(documents)
      totals = Hash.new(0)
      documents.each_slice(LOAD_BATCH) do |some|
        items = some.map do |document|
          fields = JSON.parse(document)
          { _id: fields["uuid"], document: document, places: [ALL, *fields["tags"]].map { |scope| [scope, (totals[scope] += 1) - 1] } }
        end
        @items.insert_many(items)
        @places.insert_many(items.flat_map { |item| item[:places].map { |place| { _id: at(*place), uuid: item[:_id], document: item[:document] } } })
      end
      @places.insert_many(totals.map { |scope, total| { _id: scope, total: total } } << { _id: IDS, total: totals[ALL] })
    end

    private

    def at(scope, position) = "#{scope}/#{position}"

    # @return [Integer] the number, changed
    def count(name, change)
      @places.find_one_and_update({ _id: name }, { "$inc" => { total: change } }, upsert: true, return_document: :after)["total"]
    end

    # Takes a place away; the scope's last item moves into the hole.
    def close(scope, position)
      last = count(scope, -1)
      mover = @places.find_one_and_delete(_id: at(scope, last))
      return if last == position

      @places.replace_one({ _id: at(scope, position) }, mover.merge("_id" => at(scope, position)))
      places = @items.find(_id: mover["uuid"]).first["places"].map { |one, old| [one, one == scope ? position : old] }
      @items.update_one({ _id: mover["uuid"] }, { "$set" => { places: places } })
    end
  end
end
