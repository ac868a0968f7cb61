# frozen_string_literal: true

require_relative "epochs"

module Elah
  class Entity
    # One region's claims on the shards that this worker owns. All regions of a store share the epochs; each has claims of its own under
    # them, since what a batch of one could not store concerns that one alone.
    class Claims
      # @param epochs [Epochs] of the store
      # @param commits [Commits] of the region
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

        # After a batch that could not be stored the right stays, but nothing may build on what was lost.
        renewed = claim&.renewed
        @epochs.forget(claim) if claim && !renewed
        @claims[shard] = renewed || @epochs.fetch(shard, @commits).renewed
      end

      # @param shard [Integer]
      # @return [Boolean] whether the board says that this worker owns it
      def owned?(shard) = @epochs.owned?(shard)

      # @return [Hash{Integer=>Object}] the shards that are claimed and belong to another worker now
      def lost = @claims.reject { |shard, _| owned?(shard) }

      # Forgets a claim, because another worker owns the shard.
      #
      # @param shard [Integer]
      def release(shard)
        claim = @claims.delete(shard)
        @epochs.forget(claim) if claim
      end
    end
  end
end
