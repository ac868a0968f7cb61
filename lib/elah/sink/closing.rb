# frozen_string_literal: true

module Elah
  class Sink
    # The end of a {Sink}'s journal in this process.
    module Closing
      # Syncs and closes the journal. The next event opens it again.
      #
      # @return [nil]
      def close
        journal = @journal
        @journal = nil
        journal&.close
      end

      # @api private
      # Closes the journal before a fork. In a worker the delivery opens it again.
      #
      # @return [nil]
      def leave_to_fork
        @left = @journal
        close
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
    end
  end
end
