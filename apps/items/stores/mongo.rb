# frozen_string_literal: true

require_relative "../errors"
require_relative "../item"
require_relative "../slots"
require_relative "mongo/shared_draws"
require_relative "mongo/state"

module Items
  module Stores
    # The items in a server that speaks MongoDB's protocol:
    #
    #     items  _id: position, i: id, u: uuid, d: document, and with the _id -1 the State
    #     slots  _id: tag, space, position within the tag; t: tag, i: id
    #
    # A draw reads State and item in one query, which {SharedDraws} shares among draws. One process may use the items while some
    # are added or deleted, so a server has one worker.
    class Mongo
      # @param config [Elah::Config]
      # @return [Mongo]
      # @raise [Elah::OptionError] for a server with several workers, each of which would change items
      def self.open(config)
        return new(Elah::Mongo.new(config.store)) unless config.respond_to?(:workers) && config.workers > 1

        raise Elah::OptionError, "A mongodb:// store needs --workers 1, not #{config.workers}: one process at a time may change the items."
      end

      # @param mongo [Elah::Mongo]
      def initialize(mongo)
        @items = mongo["items"]
        @slots = mongo["item_slots"]
        @state = State.new(@items, @slots)
        @draws = SharedDraws.new(@items)
        @making = Mutex.new
      end

      # (see Embedded#size)
      def size(scope = Slots::ALL) = number(state.read, scope)

      # (see Embedded#fetch)
      def fetch(position, scope = Slots::ALL)
        if scope.empty?
          made
          state, document = @draws.fetch(position)
          return [number(state, scope), (document if position < number(state, scope))] unless state.nil? || state["b"]
        end
        count, documents = fetch_many([position], scope)
        [count, documents.first]
      end

      # (see Embedded#fetch_many)
      def fetch_many(positions, scope = Slots::ALL)
        state.at_one_version do |state|
          documents = scope.empty? ? by("_id", positions) : tagged(positions, scope)
          [number(state, scope), positions.map { |position| documents[position] }]
        end
      end

      # (see Embedded#find)
      def find(uuid)
        return unless uuid.match?(Item::UUID)

        state.at_one_version { @items.find_one({ "u" => uuid })&.fetch("d") }
      end

      # (see Embedded#page)
      def page(after:, limit:, scope: Slots::ALL)
        state.at_one_version do
          filter = { "i" => { "$gt" => after } }
          rows = (scope.empty? ? @items : @slots).find(scope.empty? ? filter : filter.merge("t" => scope), sort: { "i" => 1 }, limit: limit).to_a
          ids = rows.map { |row| row["i"] }
          documents = scope.empty? ? rows.map { |row| row["d"] } : by("i", ids).values_at(*ids)
          [documents, (ids.last if ids.size == limit)]
        end
      end

      # (see Embedded#insert)
      def insert(items, loaded: nil)
        documents = nil
        state.change do |state|
          refuse_duplicates(items)
          totals = totals(state, items.flat_map(&:tags))
          steps = items.each_with_index.flat_map { |item, index| places(item, state["next_id"] + index, totals) }
          documents = steps.filter_map { |step| step["d"]["d"] }
          values = { "next_id" => state["next_id"] + items.size }
          values["loaded"] = loaded if loaded
          [values.merge(total_values(totals)), steps]
        end
        documents
      end

      # (see Embedded#delete)
      def delete(uuids)
        gone = []
        state.change do |state|
          gone = @items.find({ "u" => { "$in" => uuids.uniq.grep(Item::UUID) } }).to_a
          next if gone.empty?

          tags = gone.each_with_object(Hash.new { |known, tag| known[tag] = [] }) do |item, found|
            Elah::JSON.parse(item["d"])["tags"].each { |tag| found[tag] << item["i"] }
          end
          totals = totals(state, tags.keys)
          steps = close_holes("items", gone, totals, Slots::ALL) { |positions| positions }
          tags.each do |tag, ids|
            slots = @slots.find({ "t" => tag, "i" => { "$in" => ids } }).to_a
            steps += close_holes("slots", slots, totals, tag) { |positions| positions.map { |position| slot(tag, position) } }
          end
          [total_values(totals), steps]
        end
        gone.size
      end

      # @return [Integer] how many items the loader has stored
      def loaded = state.read["loaded"]

      private

      def state
        made
        @state
      end

      # Indexes and State are created at the first use, so that the app starts while the server is down.
      def made = @made || @making.synchronize { @made ||= @state.create || true }

      def number(state, scope) = state["n"].fetch(State.key(scope), 0)

      def totals(state, tags) = [Slots::ALL, *tags.uniq].to_h { |scope| [scope, number(state, scope)] }

      def total_values(totals) = totals.to_h { |scope, total| ["n.#{State.key(scope)}", total] }

      def slot(tag, position) = "#{tag} #{position}"

      # @return [Hash{Integer=>String}] documents by position or id
      def by(name, values)
        @items.find({ name => { "$in" => values.uniq } }).to_h { |item| [item[name], item["d"]] }
      end

      def tagged(positions, tag)
        slots = @slots.find({ "_id" => { "$in" => positions.uniq.map { |position| slot(tag, position) } } }).to_a
        documents = by("i", slots.map { |found| found["i"] })
        slots.to_h { |found| [found["_id"].split.last.to_i, documents[found["i"]]] }
      end

      def refuse_duplicates(items)
        uuids = items.map(&:uuid)
        repeated = uuids.tally.key(2) || @items.find_one({ "u" => { "$in" => uuids } })&.fetch("u")
        raise Duplicate, repeated if repeated
      end

      def places(item, id, totals)
        tags = item.tags.map { |tag| { "c" => "slots", "_id" => slot(tag, take(totals, tag)), "d" => { "t" => tag, "i" => id } } }
        [{ "c" => "items", "_id" => take(totals, Slots::ALL), "d" => { "i" => id, "u" => item.uuid, "d" => item.document(id) } }, *tags]
      end

      def take(totals, scope) = (totals[scope] += 1) - 1

      # The steps that move the last items of a scope into the holes; the block converts positions into _ids.
      def close_holes(collection, gone, totals, scope)
        positions = gone.to_h { |found| [found["_id"].to_s.split.last.to_i, found["i"]] }
        total = totals[scope]
        left = totals[scope] = total - gone.size
        moves = Slots.moves(total, positions.keys)
        kept = collection == "items" ? @items : @slots
        behind = kept.find({ "_id" => { "$in" => yield((left...total).to_a) } }).to_h { |found| [found["_id"], found] }
        puts = moves.map { |from, to| { "c" => collection, "_id" => yield([to]).first, "d" => behind.fetch(yield([from]).first).except("_id") } }
        puts + behind.map { |key, found| { "c" => collection, "_id" => key, "i" => found["i"] } }
      end
    end
  end
end
