# frozen_string_literal: true

# Owns what a ranked set answers.
module Elah
  class RankedSet
    # A member as it stands: `member` (a frozen String), `rank` (from 1; a Float if the style is `:fractional`) and `score`.
    Row = Struct.new(:member, :rank, :score)

    # What a submission did. `previous_score` and `previous_rank` are nil for a new member; `changed` says whether the member has
    # another standing now. The sequences number the writes of the set: they say who was earliest.
    Submission = Struct.new(:member, :score, :rank, :previous_score, :previous_rank, :changed, :sequence, :previous_sequence) do
      # @return [Boolean]
      def changed? = changed

      # @return [Boolean] whether the member is new
      def new? = previous_rank.nil?
    end

    # What a submission will do.
    Decision = Struct.new(:member, :score, :sequence)

    # Some rows of a walk, with the cursors of the pages behind and before it; nil where there are no more members now.
    Page = Struct.new(:rows, :after, :before)

    # Members whose score is `from` or more and less than `to`; nil is an open end.
    Bucket = Struct.new(:from, :to, :count)
  end
end
