# frozen_string_literal: true

module Items
  module Stores
    class Mongo
      # Owns the one document that decides what there is, beside the items with the _id -1: the number of items of each scope (n), the
      # version (v), and while a change is being written out, what it consists of (p) and that there is one (b).
      #
      # There are no transactions. A change is one step of this document, from one version to the next; whoever sees a change that is
      # not written out, its writer or anybody else, writes it out and takes it away. Every part of it may be done twice.
      class State
        ID = -1
        ATTEMPTS_MAX = 64
        # What no draw reads.
        CHANGE = { "p" => 0 }.freeze

        # @param scope [String]
        # @return [String] its name in a document, where a dot would be a path
        def self.key(scope) = scope.empty? ? "=" : scope.tr(".", "%")

        # @param items [Elah::Mongo::Collection]
        # @param slots [Elah::Mongo::Collection]
        def initialize(items, slots)
          @items = items
          @slots = slots
          @writing = Mutex.new
        end

        def create
          @items.create_indexes([{ keys: { "i" => 1 } }, { keys: { "u" => 1 } }])
          @slots.create_index({ "t" => 1, "i" => 1 })
          @items.update_one({ "_id" => ID }, { "$setOnInsert" => { "n" => { "=" => 0 }, "v" => 0, "b" => false, "next_id" => 1, "loaded" => 0 } },
                            upsert: true)
        rescue Elah::Mongo::DuplicateKey
          nil # another process was first
        end

        # @return [Hash] the document, of which no change is left
        def read
          ATTEMPTS_MAX.times do
            state = @items.find_one({ "_id" => ID }, projection: CHANGE)
            next create unless state # the server has lost everything since this process began
            return state unless state["b"]

            @writing.owned? ? finish : @writing.synchronize { finish }
          end
          raise Elah::Unavailable, "The items changed during each of #{ATTEMPTS_MAX} attempts to read them."
        end

        # Reads what lies at several places, all of one version.
        #
        # @yieldparam state [Hash]
        # @return the block's value
        def at_one_version
          ATTEMPTS_MAX.times do
            state = read
            value = yield state
            after = @items.find_one({ "_id" => ID }, projection: CHANGE)
            return value if after["v"] == state["v"] && !after["b"]
          end
          raise Elah::Unavailable, "The items changed during each of #{ATTEMPTS_MAX} attempts to read them."
        end

        # Makes a change, one after the other.
        #
        # @yieldparam state [Hash]
        # @yieldreturn [Array(Hash, Array<Hash>)] the new values of the document, and the steps of the change: see {#run}
        def change
          @writing.synchronize do
            ATTEMPTS_MAX.times do
              state = read
              values, steps = yield state
              return if steps.nil?

              update = { "$set" => values.merge("b" => true, "p" => steps), "$inc" => { "v" => 1 } }
              next unless @items.update_one({ "_id" => ID, "v" => state["v"], "b" => false }, update).matched == 1

              return finish
            end
            raise Elah::Unavailable, "Other processes changed the items during each of #{ATTEMPTS_MAX} attempts."
          end
        end

        private

        # Writes out the change that there is. Only who holds the lock does so: a reader that found a change, and came to write it out after
        # its writer had done so and made the next, would put old documents over new ones.
        def finish
          state = @items.find_one({ "_id" => ID })
          return unless state["b"]

          puts, deletions = state["p"].partition { |step| step["d"] }
          puts.group_by { |step| step["c"] }.each { |name, steps| run(name) { |bulk| steps.each { |step| put(bulk, step) } } }
          deletions.group_by { |step| step["c"] }.each do |name, steps|
            run(name) { |bulk| steps.each { |step| bulk.delete_one({ "_id" => step["_id"], "i" => step["i"] }) } }
          end
          @items.update_one({ "_id" => ID, "v" => state["v"] }, { "$set" => { "b" => false }, "$unset" => { "p" => 1 } })
        end

        def put(bulk, step) = bulk.replace_one({ "_id" => step["_id"] }, step["d"], upsert: true)

        def run(name, &block) = (name == "items" ? @items : @slots).bulk_write(&block)
      end
    end
  end
end
