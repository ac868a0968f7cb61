# frozen_string_literal: true

# Results of a ranked set.
module Elah
  class RankedSet
    # A member's standing: `member` (a frozen String), `rank` (from 1; a Float if the style is `:fractional`) and `score`.
    Row = Struct.new(:member, :rank, :score)

    # The effect of a submission. `previous_score` and `previous_rank` are nil for a new member; `changed` tells whether the member's standing has
    # changed. The sequences number the writes of the set, for the order of ties.
    Submission = Struct.new(:member, :score, :rank, :previous_score, :previous_rank, :changed, :sequence, :previous_sequence) do
      # @return [Boolean]
      def changed? = changed

      # @return [Boolean] whether the member is new
      def new? = previous_rank.nil?
    end

    # The effect that a submission will have.
    Decision = Struct.new(:member, :score, :sequence)

    # Rows of a page, with the cursors of the pages after and before it; nil where there are no more members now.
    Page = Struct.new(:rows, :after, :before)

    # Members whose score is `from` or more and less than `to`; nil is an open end.
    Bucket = Struct.new(:from, :to, :count)
  end
end
