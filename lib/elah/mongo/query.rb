# frozen_string_literal: true

module Elah
  class Mongo
    # Documents that are fetched when they are asked for: {#each} holds one batch of them at a time and asks for the next one when
    # the block is done with it, so a slow reader slows the server down and nothing else. Each walk asks anew.
    class Query
      include Enumerable

      # @api private
      # @yieldreturn [Cursor] a new one
      def initialize(&open)
        @open = open
      end

      # @yieldparam document [Hash{String=>Object}]
      # @return [self, Enumerator] an Enumerator without a block
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
