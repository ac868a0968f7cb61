# frozen_string_literal: true

module Elah
  class Entity
    # This worker's claims on the shards that it owns, each made durable in the store before it is used.
    class Claims
      # @param commits [Commits]
      # @param placement [Placement::Single, Placement::Supervised]
      def initialize(commits, placement)
        @commits = commits
        @placement = placement
        @claims = {}
        @lock = Mutex.new
      end

      # The claim on a shard. The first one claims every shard that this worker owns, in one transaction.
      #
      # @param shard [Integer]
      # @return [Elah::Shards::Claim] one that has not failed
      # @raise [Moved] when this worker does not own the shard
      # @raise [Store::Error] when the claim cannot be stored
      def [](shard)
        claim = @claims[shard]
        return claim if claim && !claim.failed?

        @lock.synchronize do
          renew(shard)
          claim_all(shard) unless @claims[shard]
        end
        @claims[shard] or raise moved(shard)
      end

      # Whether the board says that this worker owns a shard.
      #
      # @param shard [Integer]
      # @return [Boolean]
      def owned?(shard)
        slot = @placement.slot
        @placement.owner_of(shard) == slot && @placement.incarnation_of(slot) == @placement.incarnation
      end

      # @return [Hash{Integer=>Object}] the shards that are claimed and belong to another worker now
      def lost = @claims.reject { |shard, _| owned?(shard) }

      # Forgets a claim, because another worker owns the shard.
      #
      # @param shard [Integer]
      def release(shard) = @claims.delete(shard)

      # @return [Integer] how many shards are claimed
      def size = @claims.size

      private

      # After a batch that could not be stored: the right stays, but nothing may build on what was lost.
      def renew(shard)
        claim = @claims[shard]
        return unless claim&.failed?

        renewed = claim.renewed
        renewed ? @claims[shard] = renewed : @claims.delete(shard)
      end

      def claim_all(shard)
        raise moved(shard) unless owned?(shard)

        wanted = (0...@placement.shards).select { |candidate| owned?(candidate) && !@claims.key?(candidate) }
        claims = @commits.claim(wanted, @placement.shards, @placement.incarnation)
        # Whoever was paused in between may have been replaced.
        claims.each { |claim| @claims[claim.shard] = claim if owned?(claim.shard) }
      end

      def moved(shard) = Moved.new("Shard #{shard} belongs to another worker.")
    end
  end
end
