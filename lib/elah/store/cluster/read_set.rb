# frozen_string_literal: true

module Elah
  class Store
    class Cluster
      # What a transaction has read, in the form in which {Schema::COMMIT} checks it.
      class ReadSet
        Range = Struct.new(:table, :span, :digest)
        Count = Struct.new(:counter, :key, :count)
        private_constant :Range, :Count

        # @return [Array<Range>]
        def ranges = @ranges.values

        # @return [Array<Count>]
        def counts = @counts.values

        def initialize
          @ranges = {}
          @counts = {}
        end

        # @return [Integer]
        def size = @ranges.size + @counts.size

        # @param table [Table]
        # @param span [Span]
        # @param entries [Array<Array(String, String)>] all that the span has, in the order of the keys
        def note_entries(table, span, entries)
          @ranges[[table, span.from, span.til]] ||= Range.new(table, span, digest(entries))
        end

        # @param counter [Counter]
        # @param count [Integer, nil]
        def note_count(counter, key, count)
          @counts[[counter, key]] ||= Count.new(counter, key, count)
        end

        private

        def digest(entries)
          entries.each_with_object(Digest::SHA256.new) do |(key, value), sum|
            sum << [key.bytesize].pack("N") << key << [value.bytesize].pack("N") << value
          end.digest
        end
      end

      private_constant :ReadSet
    end
  end
end
