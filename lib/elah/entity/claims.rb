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

      # @return [Hash{Integer=>Elah::Shards::Claim}] claimed shards that belong to another worker now
      def lost = @claims.reject { |shard, _| owned?(shard) }

      # @param shards [Hash{Integer=>Object}]
      # @return [Hash{Integer=>Elah::Shards::Claim}] the claims on these
      def of(shards) = @claims.slice(*shards.keys)

      # Drops a claim, because another worker owns the shard, unless there is another one already.
      #
      # @param shard [Integer]
      # @param claim [Elah::Shards::Claim]
      def release(shard, claim)
        @epochs.forget(@claims.delete(shard)) if @claims[shard].equal?(claim)
      end
    end
  end
end
