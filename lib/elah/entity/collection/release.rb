# frozen_string_literal: true

module Elah
  class Entity
    class Collection
      # Hands shards over: running calls end, their writes are stored, and new calls go to the next owner.
      # @api private
      module Release
        # @api private
        # @param identities [Array<String>]
        # @return [Boolean] whether one of these entities still runs a call although its shard is handed over
        def leaving?(identities) = @leaving.each_value.any? { |activation| activation.runner && identities.include?(activation.identity) }

        # The process leaves its cluster: what calls have left in memory is sent before. Calls that still run wait until the database has their
        # writes, and new ones are made at the next owner.
        #
        # @api private
        # @return [Array<Activation>] the entities that were in memory
        def leave
          return [] unless @claims

          let_go((0...@placement.shards).to_h { |shard| [shard, @placement.term_of(shard)] }).tap { @commits.submit }
        end

        private

        # Runs in a fiber of the loop. The scoreboard names this worker as the owner until it returns, unless that takes too long: so what has
        # returned is stored before the calls that still run are waited for. Those may call other entities of the shards. The shards may come back
        # before anybody calls this collection: what is released is a term. Its claims end when it does.
        #
        # @param terms [Hash{Integer=>Integer}] of each shard
        def release(terms)
          return unless @claims

          current = terms.select { |shard, term| term == @placement.term_of(shard) }
          leaving = let_go(current)
          flush
          leaving.each(&:wait_until_idle)
          flush
          leaving.each(&:report_loss)
          @leaving.delete_if { |_, activation| current.key?(activation.shard) && activation.runner.nil? }
        end

        def let_go(terms)
          @released.update(terms)
          @residents.of(terms).each { |activation| @leaving[activation.key] = @residents.delete(activation) }
        end

        # While its shard is handed over, only those call an entity for whose end the hand-over waits.
        def activate_leaving(key, shard)
          return unless Chain.leaving?(@event_loop&.current_task)

          @leaving[key] ||= @activation_class.new(self, key, shard).tap(&:leave_collection)
        end
      end
    end
  end
end
