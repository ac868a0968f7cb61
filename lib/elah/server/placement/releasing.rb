# frozen_string_literal: true

module Elah
  module Placement
    # What a worker does before shards of it get another owner. Others own them when all of it has ended, or after `handover_seconds`.
    module Releasing
      # Registers a block.
      #
      # @yieldparam terms [Hash{Integer=>Integer}] which term of each shard ends; it may be over when the block has waited
      # @return [Hash{Integer=>Integer}] terms that are ending already, for which it is not called
      # @api private
      def before_release(&block)
        @before_release << block
        @ending.to_h.select { |shard, term| term == term_of(shard) }
      end

      private

      # Calls the blocks side by side: none waits for what another one waits for.
      #
      # @param terms [Hash{Integer=>Integer}]
      # @yieldparam exception [Exception] what a block ended with
      def release_terms(terms, &failed)
        @ending = @ending.to_h.merge(terms)
        @before_release.filter_map { |block| start_release(block, terms, &failed) }.each(&:wait)
      end

      def start_release(block, terms, &failed)
        Elah.async { call_before_release(block, terms, &failed) }
      rescue Overloaded
        call_before_release(block, terms, &failed)
        nil
      end

      def call_before_release(block, terms)
        block.call(terms)
      rescue StandardError => e
        yield e
      end
    end
  end
end
