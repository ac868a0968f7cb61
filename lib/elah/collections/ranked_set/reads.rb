# frozen_string_literal: true

module Elah
  class RankedSet
    # Reads of a ranked set: ranks, scores and lists. All are served from memory, without suspending.
    #
    # The style determines the ranks of equal scores. For four members of whom the second and third have the same score: `:ordinal` 1 2 3 4,
    # `:dense` 1 2 2 3, `:competition` 1 2 2 4, `:modified` 1 3 3 4, `:fractional` 1.0 2.5 2.5 4.0.
    module Reads
      # Default page size of {#page} and {#each}.
      LIMIT = 100

      # @!method size
      #   @return [Integer] the number of members
      # @!method distinct_scores
      #   @return [Integer] the number of different scores
      # @!method score(member)
      #   @param member [String]
      #   @return [Integer, BigDecimal, Array<Integer, BigDecimal>, nil] an Array for scores of several components; nil for a member that is not there
      # @!method member?(member)
      #   @param member [String]
      #   @return [Boolean]
      # @!method bytes
      #   @return [Integer] the set's memory in bytes; it is reported to Ruby's garbage collector

      # @!method version
      #   @return [Integer] a larger one after each change
      # @!method rank(member, style: :ordinal)
      #   @param member [String]
      #   @param style [Symbol] `:ordinal`, `:dense`, `:competition`, `:modified` or `:fractional`
      #   @return [Integer, Float, nil] from 1; nil for a member that is not there

      # @return [Boolean]
      def empty? = size.zero?

      # The ranks of many members, several times as fast as one call each.
      #
      # @param members [Array<String>]
      # @param style [Symbol] see {#rank}
      # @return [Array<Integer, Float, nil>] in the order of the argument; nil for a member that is not there
      def ranks(members, style: :ordinal) = ranks_native(members, style)

      # A member with rank and score.
      #
      # @param member [String]
      # @param style [Symbol] see {#rank}
      # @return [Row, nil]
      def [](member, style: :ordinal) = row_native(member, style)

      # The first members.
      #
      # @param count [Integer]
      # @param style [Symbol] see {#rank}
      # @return [Array<Row>]
      def top(count, style: :ordinal) = rows_native(0, Arguments.limit(count, "count"), style)

      # The members at some ranks, counted as `:ordinal`.
      #
      # @param ranks [Range<Integer, nil>] from 1; may be open at either end
      # @param style [Symbol] the style of the returned ranks, see {#rank}
      # @return [Array<Row>]
      def range(ranks, style: :ordinal) = rows_native(*Arguments.places(ranks, size), style)

      # A member with its neighbours in the order.
      #
      # @param member [String]
      # @param distance [Integer] maximum number of neighbours on each side
      # @param style [Symbol] see {#rank}
      # @return [Array<Row>, nil] nil for a member that is not there
      def around(member, distance, style: :ordinal)
        around_native(member, Arguments.limit(distance, "distance"), style)
      end

      # The listed members.
      #
      # @param members [Array<String>]
      # @param style [Symbol] see {#rank}
      # @return [Array<Row, nil>] in the order of the argument; nil for a member that is not there
      def list(members, style: :ordinal)
        members.map { |member| row_native(member, style) }
      end

      # The members with scores in a range, the first-ranking ones first.
      #
      # @param scores [Range<Object>] of numbers, `..` or `...`, which may be open at either end. With several components its ends are Arrays,
      #   which may leave out components at the end; they are compared in the set's order.
      # @param offset [Integer] members to leave out at the beginning
      # @param limit [Integer, nil] maximum number of rows
      # @param style [Symbol] see {#rank}
      # @return [Array<Row>]
      # @raise [InvalidScore]
      def by_score(scores, offset: 0, limit: nil, style: :ordinal)
        start, count = span_native(scores.begin, scores.end, scores.exclude_end?)
        count = [count - Arguments.limit(offset, "offset"), 0].max
        rows_native([start + offset, size].min, limit ? [count, Arguments.limit(limit)].min : count, style)
      end

      # The number of members, or of those with scores in a range.
      #
      # @param scores [Range<Object>, nil] as in {#by_score}
      # @return [Integer]
      # @raise [InvalidScore]
      def count(scores = nil)
        scores ? span_native(scores.begin, scores.end, scores.exclude_end?).last : size
      end

      # A page of members. A member that does not move between two pages is on exactly one of them, whatever the others do. A member that moves is
      # on the page of its current place. The member of a cursor may move or be deleted, too.
      #
      # @param after [String, nil] the cursor {Page#after} of the previous page; nil returns the first page
      # @param before [String, nil] the cursor {Page#before} of the next page
      # @param limit [Integer] maximum number of rows
      # @param style [Symbol] see {#rank}
      # @return [Page]
      # @raise [InvalidCursor]
      def page(after: nil, before: nil, limit: LIMIT, style: :ordinal)
        raise ArgumentError, "after: and before: exclude each other" if after && before

        start, rows = if (cursor = after || before)
                        page_native(decode(cursor), !before.nil?, Arguments.limit(limit), style)
                      else
                        [0, rows_native(0, Arguments.limit(limit), style)]
                      end
        Page.new(rows, (cursor_of(rows.last) if start + rows.size < size), (cursor_of(rows.first) if start.positive?))
      end

      # The position of a member in the order, for {#page} of this set or of another one with the same order, which need not have the member.
      #
      # @param member [String]
      # @return [String, nil] a cursor; nil for a member that is not there
      def cursor(member) = member?(member) ? encode(cursor_native(member)) : nil

      # Every member in the order of ranks, read page by page.
      #
      # @param batch [Integer] number of members read at once
      # @param style [Symbol] see {#rank}
      # @overload each(batch: LIMIT, style: :ordinal, &block)
      #   @param batch [Integer]
      #   @param style [Symbol]
      #   @yieldparam row [Row]
      #   @return [void]
      # @overload each(batch: LIMIT, style: :ordinal)
      #   @param batch [Integer]
      #   @param style [Symbol]
      #   @return [Enumerator<Row>]
      def each(batch: LIMIT, style: :ordinal, &block)
        Arguments.limit(batch, "batch", least: 1)
        return enum_for(:each, batch: batch, style: style) { size } unless block

        cursor = nil
        while true # `loop` would rescue the block's StopIteration
          page = page(after: cursor, limit: batch, style: style)
          page.rows.each(&block)
          cursor = page.after or break
        end
      end

      private

      def cursor_of(row) = row && encode(cursor_native(row.member))

      def encode(cursor) = [cursor].pack("m0").tr("+/", "-_").delete("=")

      def decode(cursor) = cursor.b.tr("-_", "+/").unpack1("m")
    end
  end
end
