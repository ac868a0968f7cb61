# frozen_string_literal: true

require_relative "servers"

module Elah
  class Entity
    # The epochs of one store's shards under which this worker may write. Each belongs to the term in which its shard was claimed: when the shard
    # comes back, all collections get a new one.
    class Epochs
      @all = {}

      class << self
        # @param store [Elah::Store]
        # @param placement [Placement::Single, Placement::Supervised, Placement::Clustered]
        # @return [Epochs] those of its directory
        def of(store, placement) = @all[store.dir] ||= new(placement, store.servers)

        # Logs which other servers have entities of these stores in memory.
        #
        # @param dirs [Array<String>]
        def warn_of_others(dirs) = dirs.each { |dir| Servers.of(dir).warn_of_others }

        # @return [Integer] number of shards, of all stores, that this process has claimed
        def claimed = @all.each_value.sum(&:size)

        # Drops the epochs of a store that was closed.
        #
        # @param dir [String]
        def forget(dir) = @all.delete(dir)

        # Drops all epochs, in a fork.
        def reset_all
          @all.clear
          Servers.reset_all
        end
      end

      # @param placement [Placement::Single, Placement::Supervised, Placement::Clustered]
      # @param servers [Servers, nil] nil where the database tells owners apart
      def initialize(placement, servers)
        @placement = placement
        @servers = servers
        @claims = {}
        @terms = {}
        @lock = Mutex.new
      end

      # The claim that represents an epoch; no writes use it. The first one claims all shards of this worker in one transaction.
      #
      # @param shard [Integer]
      # @param commits [Commits] that carries the claim to the store
      # @return [Elah::Shards::Claim]
      # @raise [Moved] when this worker does not own the shard
      def fetch(shard, commits)
        @lock.synchronize { claim_all(shard, commits) unless current(shard) }
        current(shard) or raise moved(shard)
      end

      # @return [Integer] number of claimed shards
      def size = @claims.size

      # Whether this worker owns a shard, according to the scoreboard.
      #
      # @param shard [Integer]
      # @return [Boolean]
      def owned?(shard)
        slot = @placement.slot
        @placement.owner_of(shard) == slot && @placement.generation_of(slot) == @placement.generation
      end

      # Drops an epoch that is over.
      #
      # @param claim [Elah::Shards::Claim] under it
      def forget(claim)
        @claims.delete(claim.shard) if @claims[claim.shard]&.epoch == claim.epoch
      end

      private

      def claim_all(shard, commits)
        raise moved(shard) unless owned?(shard)

        @servers&.enter
        @servers&.warn_of_others
        @claims.delete_if { |other, claim| !current(other) || !commits.owns?(claim) } # others may have claimed all of them at once
        wanted = (0...@placement.shards).select { |candidate| owned?(candidate) && !@claims.key?(candidate) }
        terms = wanted.to_h { |candidate| [candidate, @placement.term_of(candidate)] }
        claims = commits.claim(wanted, @placement.shards, @placement.generation)
        # A worker that was paused in between may have been replaced.
        claims.select { |claim| owned?(claim.shard) }.each do |claim|
          @claims[claim.shard] = claim
          @terms[claim.shard] = terms[claim.shard]
        end
      end

      def current(shard)
        claim = @claims[shard]
        claim if claim && @terms[shard] == @placement.term_of(shard)
      end

      def moved(shard) = Moved.new("Shard #{shard} belongs to another worker.")
    end
  end
end
