# frozen_string_literal: true

# Results of a ranked set.
module Elah
  class RankedSet
    # A member's standing.
    #
    # @attr_reader [String] member frozen
    # @attr_reader [Integer, Float] rank from 1; a Float if the style is `:fractional`
    # @attr_reader [Integer, BigDecimal, Array<Integer, BigDecimal>] score
    Row = Struct.new(:member, :rank, :score)

    # The effect of a submission. The sequences number the writes of the set, for the order of ties.
    #
    # @attr_reader [String] member frozen
    # @attr_reader [Integer, BigDecimal, Array<Integer, BigDecimal>] score
    # @attr_reader [Integer, Float] rank
    # @attr_reader [Integer, BigDecimal, Array<Integer, BigDecimal>, nil] previous_score nil for a new member
    # @attr_reader [Integer, Float, nil] previous_rank nil for a new member
    # @attr_reader [Boolean] changed whether the member's standing has changed
    # @attr_reader [Integer] sequence
    # @attr_reader [Integer, nil] previous_sequence nil for a new member
    Submission = Struct.new(:member, :score, :rank, :previous_score, :previous_rank, :changed, :sequence, :previous_sequence) do
      # @return [Boolean]
      def changed? = changed

      # @return [Boolean] whether the member is new
      def new? = previous_rank.nil?
    end

    # The effect that a submission will have.
    #
    # @attr_reader [String] member frozen
    # @attr_reader [Integer, BigDecimal, Array<Integer, BigDecimal>] score
    # @attr_reader [Integer] sequence
    Decision = Struct.new(:member, :score, :sequence)

    # A page of members.
    #
    # @attr_reader [Array<Row>] rows
    # @attr_reader [String, nil] after cursor of the page after it; nil where there are no more members now
    # @attr_reader [String, nil] before cursor of the page before it; nil where there are no more members now
    Page = Struct.new(:rows, :after, :before)

    # The number of members whose score is `from` or more and less than `to`.
    #
    # @attr_reader [Integer, BigDecimal, nil] from nil is an open end
    # @attr_reader [Integer, BigDecimal, nil] to nil is an open end
    # @attr_reader [Integer] count
    Bucket = Struct.new(:from, :to, :count)
  end
end
