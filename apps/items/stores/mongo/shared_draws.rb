# frozen_string_literal: true

require_relative "state"

module Items
  module Stores
    class Mongo
      # The query by which a draw reads State and item, shared by all draws of one iteration of the loop. The first draw sends it,
      # and the others wait for the reply. If the first request is cancelled, they send it again.
      class SharedDraws
        # Together with State as many documents as a server returns at once.
        POSITIONS_MAX = 100
        # The fields of State and of an item that a draw reads.
        PROJECTION = { "n.=" => 1, "b" => 1, "d" => 1 }.freeze

        # Draws that share a query: the documents by _id, or the failure, when `done` is closed.
        Round = Struct.new(:positions, :done, :found, :failure)

        # @param items [Elah::Mongo::Collection]
        def initialize(items)
          @items = items
          @open = nil
        end

        # @param position [Integer]
        # @return [Array((Hash, nil), (String, nil))] State, and the document of the item at the position
        def fetch(position)
          found = Fiber.current_scheduler ? together(position) : read([position])
          [found[State::ID], found.dig(position, "d")]
        end

        private

        def together(position)
          while (round = @open)
            found = join(round, position) and return found
          end
          lead(position)
        end

        # @return [Hash, nil] nil if the request that sent the query was cancelled
        def join(round, position)
          round.positions << position
          @open = nil if round.positions.size == POSITIONS_MAX
          round.done.pop
          raise round.failure if round.failure

          round.found
        end

        def lead(position)
          round = @open = Round.new([position], Queue.new)
          sleep(0) # other draws of this iteration join
          close(round)
          round.found = read(round.positions)
        rescue Elah::Unavailable, Elah::Mongo::Error => e
          round.failure = e # the server's failure, so all draws get it
          raise
        ensure
          close(round)
          round.done.close
        end

        def close(round) = @open.equal?(round) && @open = nil

        def read(positions)
          @items.find({ "_id" => { "$in" => [State::ID, *positions.uniq] } }, projection: PROJECTION).to_h { |found| [found["_id"], found] }
        end
      end
    end
  end
end
