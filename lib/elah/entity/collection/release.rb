# frozen_string_literal: true

module Elah
  class Entity
    class Collection
      # Hands shards over: running calls end, their writes are stored, and new calls go to the next owner.
      # @api private
      module Release
        private

        # Runs in a fiber of the loop. The scoreboard names this worker as the owner until it returns, unless that takes too long: so what has
        # returned is stored before the calls that still run are waited for. The shards may come back before anybody calls this collection: what is
        # released is a term.
        #
        # @param terms [Hash{Integer=>Integer}] of each shard
        def release(terms)
          return unless @claims

          current = terms.select { |shard, term| term == @placement.term_of(shard) }
          claims = @claims.of(current)
          @released.update(current)
          leaving = @residents.of(current)
          leaving.each { |activation| @residents.delete(activation) }
          flush
          leaving.each(&:wait_until_idle)
          flush
          leaving.each(&:report_loss)
          claims.each { |shard, claim| @claims.release(shard, claim) }
        end
      end
    end
  end
end
