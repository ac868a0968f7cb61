# frozen_string_literal: true

module Elah
  class Entity
    class Collection
      # Hands shards over: running calls end, their writes are stored, and new calls go to the next owner.
      # @api private
      module Release
        private

        # Runs in a fiber of the loop. The scoreboard names this worker as the owner until it returns. The shards may come back before anybody calls
        # this collection: what is released is their term.
        def release(shards)
          return unless @claims

          released = shards.to_h { |shard| [shard, @placement.term_of(shard)] }
          @released.update(released)
          leaving = @residents.of(released)
          leaving.each { |activation| @residents.delete(activation) }
          leaving.each(&:wait_until_idle)
          flush
          shards.each { |shard| @claims.release(shard) }
        end
      end
    end
  end
end
