# frozen_string_literal: true

module Elah
  class Mongo
    # A query whose documents are fetched on demand. {#each} holds one batch at a time, and requests the next one when the block has processed it.
    # So a slow reader slows down only the server's cursor. Each walk runs the query again.
    class Query
      include Enumerable

      # @api private
      # @yieldreturn [Cursor] a new one
      def initialize(&open)
        @open = open
      end

      # @overload each(&block)
      #   @yieldparam document [Hash{String=>Object}]
      #   @return [self]
      # @overload each
      #   @return [Enumerator<Hash{String=>Object}>]
      # @raise [Elah::Unavailable, Elah::QueryTimeout, Mongo::Error]
      def each(&block)
        return to_enum unless block

        each_batch { |documents| documents.each(&block) }
      end

      # @yieldparam documents [Array<Hash{String=>Object}>] as many as came at once
      # @return [self]
      def each_batch
        cursor = @open.call
        begin
          while (documents = cursor.next_batch)
            yield documents unless documents.empty?
          end
        ensure
          cursor.close
        end
        self
      end

      # @return [Array<Hash{String=>Object}>] all documents
      def to_a
        all = nil
        each_batch { |documents| all ? all.concat(documents) : all = documents }
        all || []
      end
    end
  end
end
