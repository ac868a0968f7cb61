# frozen_string_literal: true

module Items
  module Stores
    class Mongo
      # The state document, which has the _id -1 and decides which items exist. It has the number of items of each scope (n), the
      # version (v), and, while a change is written out, its steps (p) and a mark (b).
      #
      # There are no transactions. A change is one step of this document, from one version to the next. Its writer, or anybody who
      # finds it unfinished, writes it out and removes it. Every step may be repeated.
      class State
        ID = -1
        ATTEMPTS_MAX = 64
        # The fields that a draw does not read.
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

        # Reads several documents, all of one version.
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

        # Makes a change; changes run one after the other.
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

        # Writes out the pending change, under the lock. Otherwise a reader that found a change and was late, after its writer had
        # finished and begun the next one, would overwrite new documents with old ones.
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
