# frozen_string_literal: true

module Elah
  class Sink
    # The end of a {Sink}'s journal in this process.
    module Closing
      # Syncs and closes the journal. The next event opens it again.
      #
      # @return [nil]
      def close
        @left = nil
        close_journal
      end

      # @api private
      # Keeps the journals closed during the block, which forks: the own one, and those of dead processes, which nobody else could take over while the
      # fork lives. It waits for an opening that is under way; the next one waits for the fork.
      def closed_for_fork
        is_locked = @lock.try_lock || @lock.lock # in a trap, only the first may be called
        @left = @journal || @left
        @forking = Process.pid
        close_journal
        @delivery_worker.close_adopted
        yield
      ensure
        @lock.unlock if is_locked
      end

      # @api private
      # @param journal [Journal]
      # @return [Boolean] whether a fork closed it
      def left?(journal) = journal.equal?(@left)

      # @api private
      # @param journal [Journal] a journal that no delivery uses any more
      def close_if(journal)
        @journal = nil if @journal.equal?(journal)
        journal.close
      end

      private

      def close_journal
        journal = @journal
        @journal = nil
        journal&.close
      end
    end
  end
end
