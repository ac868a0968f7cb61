# frozen_string_literal: true

module Elah
  class Entity
    class Region
      # Hands shards over: calls that run end, what they wrote is stored, and those that come meanwhile go to the next owner.
      module Release
        private

        # Runs in a fiber of the loop; the board says that this worker owns the shards until it returns.
        def release(shards)
          return unless @claims

          shards.each { |shard| @released[shard] = true }
          @shard_carriers.clear
          leaving = @residents.of(@released)
          leaving.each { |activation| @residents.delete(activation) }
          leaving.each(&:wait_until_idle)
          flush
          shards.each { |shard| @claims.release(shard) }
        end
      end
    end
  end
end
