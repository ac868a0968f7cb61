# frozen_string_literal: true

require_relative "state"

module Items
  module Stores
    class Mongo
      # Owns the query by which a draw reads State and item: one for all draws that begin in the same turn of the loop. The first of them asks, and
      # the others wait for its answer; when its request ends before, they ask anew.
      class Looks
        # With State as many documents as a server gives at once.
        POSITIONS_MAX = 100
        # What a draw reads of State, and of an item.
        PROJECTION = { "n.=" => 1, "b" => 1, "d" => 1 }.freeze

        # Draws that share a query: what is found by its _id, or the failure, when `done` is closed.
        Round = Struct.new(:positions, :done, :found, :failure)

        # @param items [Elah::Mongo::Collection]
        def initialize(items)
          @items = items
          @open = nil
        end

        # @param position [Integer]
        # @return [Array((Hash, nil), (String, nil))] State, and the document of the item at the position
        def look(position)
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

        # @return [Hash, nil] nil when who asked has ended before the answer
        def join(round, position)
          round.positions << position
          @open = nil if round.positions.size == POSITIONS_MAX
          round.done.pop
          raise round.failure if round.failure

          round.found
        end

        def lead(position)
          round = @open = Round.new([position], Queue.new)
          sleep(0) # whoever comes in this turn joins
          close(round)
          round.found = read(round.positions)
        rescue Elah::Unavailable, Elah::Mongo::Error => e
          round.failure = e # the server's, and so of all
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
