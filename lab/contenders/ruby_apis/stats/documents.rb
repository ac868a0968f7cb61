# frozen_string_literal: true

require_relative "../mongo_client"

module Stats
  # Events behind MongoDB's protocol.
  class Documents
    def initialize(url, threads)
      @events = MongoClient.open(url, threads).database[:events]
      @events.indexes.create_one({ accepted_ms: 1 })
    end

    # @param event [Hash{Symbol=>Object}]
    def insert(event) = @events.insert_one(event)

    def count = @events.count

    # @param since_ms [Integer]
    # @param unit_ms [Integer]
    # @return [Array<Array<Integer>>] beginning, events, bots and visitors of each unit that has events
    def sums(since_ms, unit_ms)
      group = { _id: { "$subtract" => ["$accepted_ms", { "$mod" => ["$accepted_ms", unit_ms] }] }, events: { "$sum" => 1 },
                bots: { "$sum" => { "$cond" => [{ "$eq" => ["$bot", nil] }, 0, 1] } }, visitors: { "$addToSet" => "$visitor" } }
      found = @events.aggregate([{ "$match" => { accepted_ms: { "$gte" => since_ms } } }, { "$group" => group }, { "$sort" => { _id: 1 } }])
      found.map { |row| [*row.values_at("_id", "events", "bots"), row["visitors"].size] }
    end
  end
end
