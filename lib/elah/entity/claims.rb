# frozen_string_literal: true

require_relative "epochs"

module Elah
  class Entity
    # One collection's claims on the shards that this worker owns. All collections of a store share the epochs. Each has its own claims, because a
    # failed batch affects only its own collection.
    class Claims
      # @param epochs [Epochs] of the store
      # @param commits [Commits] of the collection
      def initialize(epochs, commits)
        @epochs = epochs
        @commits = commits
        @claims = {}
      end

      # The claim on a shard, made durable in the store before it is used.
      #
      # @param shard [Integer]
      # @return [Elah::Shards::Claim] one that has not failed
      # @raise [Moved] when this worker does not own the shard
      # @raise [Store::Error] when the claim cannot be stored
      def [](shard)
        claim = @claims[shard]
        return claim if claim && !claim.failed?

        # After a failed batch the ownership stays, but nothing may build on the lost writes.
        renewed = claim&.renewed
        @epochs.forget(claim) if claim && !renewed
        @claims[shard] = renewed || @epochs.fetch(shard, @commits).renewed
      end

      # As {#[]}, but a claim that another process has taken meanwhile is made again.
      #
      # @param shard [Integer]
      # @return [Elah::Shards::Claim]
      def current(shard)
        claim = self[shard]
        @commits.owns?(claim) ? claim : self[shard]
      end

      # @param shard [Integer]
      # @return [Boolean] whether this worker owns it, according to the scoreboard
      def owned?(shard) = @epochs.owned?(shard)

      # @return [Hash{Integer=>Object}] claimed shards that belong to another worker now
      def lost = @claims.reject { |shard, _| owned?(shard) }

      # Drops a claim, because another worker owns the shard.
      #
      # @param shard [Integer]
      def release(shard)
        claim = @claims.delete(shard)
        @epochs.forget(claim) if claim
      end
    end
  end
end
