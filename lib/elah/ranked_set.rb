# frozen_string_literal: true

# Owns the Ruby half of ranked sets: keywords, defaults and documentation. The other half is native (ext/elah/src/ranked_set.rs).
require_relative "ranked_set/errors"
require_relative "ranked_set/answers"
require_relative "ranked_set/arguments"
require_relative "ranked_set/reads"
require_relative "ranked_set/entity_responder"
require_relative "ranked_set/responder"
require_relative "ranked_set/statistics"
require_relative "ranked_set/stored"
require_relative "ranked_set/texts"

module Elah
  # An ordered set that knows ranks: members with scores. To submit a score, to delete a member, to ask for the rank of a member, the
  # member at a rank or the number of members in a range of scores takes logarithmic time each, at any size.
  #
  # Members are Strings of up to 10,240 bytes; their bytes alone count, and they come back frozen, in UTF-8 where that is valid, else
  # binary. Scores are exact: integers of 64 bits, or with `decimals:` decimals that keep that many digits and come back as BigDecimal.
  # What does not fit raises {InvalidScore} and is never rounded.
  #
  # The set itself lives in memory. {.open} gives one whose members are in a table of {Elah::Store}.
  #
  # @example
  #   set = Elah::RankedSet.new
  #   set.submit("ann", 120)            # => #<struct rank=1, previous_rank=nil, score=120, ...>
  #   set.submit("bob", 150)
  #   set.rank("ann")                   # => 2
  #   set.top(10).map(&:member)         # => ["bob", "ann"]
  class RankedSet
    include Reads
    include Statistics
    include Texts

    # Members that a set takes unless told otherwise.
    MEMBERS_MAX = 100_000_000

    class << self
      # An empty set.
      #
      # @param order [Symbol, Array<Symbol>] `:desc` (the larger score ranks first) or `:asc`; an Array for scores of several
      #   components, up to 8, which are compared one after the other
      # @param decimals [Integer, Array<Integer>] the digits behind the point that a component keeps, up to 18; one number is that of
      #   all components
      # @param ties [Symbol] what decides between equal scores: `:earliest` (who has had it for longer) or `:member` (the bytes of the
      #   names)
      # @param members_max [Integer] the members that the set takes before it raises {Full}
      # @return [Elah::RankedSet]
      # @raise [InvalidOrder]
      def new(order: :desc, decimals: 0, ties: :earliest, members_max: MEMBERS_MAX)
        new_native(*Arguments.order(order, decimals, ties), members_max)
      end

      # A set whose members are rows of a table: what is there is loaded, and every write is on disk before it is answered. One
      # process writes a set. The rows are loaded in a thread of their own; the calling fiber waits.
      #
      # @param store [Elah::Store]
      # @param table [String] the name of a table that holds nothing but ranked sets
      # @param prefix [String] the set's name in the table, up to 222 bytes
      # @param settings [Hash] `order`, `decimals`, `ties` and `members_max` as in {.new}
      # @return [Elah::RankedSet::Stored]
      # @raise [InvalidRow] when the rows are those of a set with another order
      # @raise [InvalidOrder, InvalidPrefix, Full, Elah::Store::Error]
      def open(store, table, prefix: "", **settings)
        table = store.table(table)
        Stored.new(load(table, prefix: prefix, **settings), store, table, prefix)
      end

      # The set that the rows of a table make, without a tie to the table: for those who write the rows themselves, with {#row} in a
      # transaction of their own.
      #
      # @param table [Elah::Store::Table]
      # @param prefix [String]
      # @param (see .new)
      # @return [Elah::RankedSet]
      # @raise (see .open)
      def load(table, prefix: "", order: :desc, decimals: 0, ties: :earliest, members_max: MEMBERS_MAX)
        load_native(table, prefix, *Arguments.order(order, decimals, ties), members_max)
      end

      private :new_native, :load_native, :structs_native, :store_key_native
    end

    structs_native(Row, Submission, Decision)

    # Submits a score.
    #
    # `:best` keeps the one that ranks first, `:min` the smaller, `:max` the larger; `:set` replaces what is there; `:increment` adds,
    # component by component; `:last` replaces too, and counts as reached now even if the score is the same. A score of several
    # components is one attempt: its components are never mixed with those of another.
    #
    # With `ties: :earliest`, a member goes behind its equals when its score changes, or by `:last`. A submission that leaves the score
    # as it is keeps the member's place.
    #
    # @param member [String]
    # @param score [Integer, Float, BigDecimal, Rational, String, Array] a finite number; a Float counts as the shortest decimal that
    #   says it, a String is one like "-12.50" or "1e3"
    # @param operator [Symbol] `:best`, `:set`, `:increment`, `:min`, `:max` or `:last`
    # @param style [Symbol] how the ranks of the answer are numbered, see {Reads#rank}
    # @return [Submission]
    # @raise [InvalidScore, InvalidMember, Full] nothing has changed then
    def submit(member, score, operator: :best, style: :ordinal)
      submit_native(member, score, operator, style)
    end

    # Submits many scores, one after the other: all of them, or with an error none. Faster than to submit each.
    #
    # @param scores [Hash{String=>Object}, Array<Array(String, Object)>] members and scores, as for {#submit}
    # @param operator [Symbol] see {#submit}
    # @return [Integer] how many changed the standing of their member
    # @raise (see #submit)
    def submit_all(scores, operator: :best) = submit_all_native(scores.to_a, operator)

    # Takes a submission back: the member has the score and the place that it had before. Of several submissions for one member the
    # last one must be taken back first.
    #
    # @param submission [Submission]
    # @return [nil]
    def undo(submission)
      if submission.previous_rank
        place_native(submission.member, submission.previous_score, submission.previous_sequence, :ordinal)
      else
        delete(submission.member)
      end
      nil
    end

    # What {#submit} would make of a member, without doing it: for those who store it first and {#apply} it then, so that memory is
    # never ahead of the disk. Nothing else may be submitted for the member in between.
    #
    # @param (see #submit)
    # @return [Decision, nil] nil when the member's score stays as it is
    # @raise (see #submit)
    def decide(member, score, operator: :best) = decide_native(member, score, operator)

    # Does what was decided.
    #
    # @param decision [Decision]
    # @param style [Symbol]
    # @return [Submission]
    # @raise [Full]
    def apply(decision, style: :ordinal)
      place_native(decision.member, decision.score, decision.sequence, style)
    end

    # The row that holds a member in a table, for {.load} to read: `tx.put(table, *set.row(decision))`.
    #
    # @param standing [Decision, Submission]
    # @param prefix [String] the set's name in the table, up to 222 bytes
    # @return [Array(String, String)] key and value
    # @raise [InvalidPrefix]
    def row(standing, prefix: "")
      store_row_native(Arguments.prefix(prefix), standing.member, standing.score, standing.sequence)
    end

    # The key of the row of a member, to delete it.
    #
    # @param member [String]
    # @param prefix [String]
    # @return [String]
    # @raise [InvalidPrefix]
    def self.row_key(member, prefix: "") = store_key_native(Arguments.prefix(prefix), member)

    # Makes a member what its row in a table says; without a row it is not there.
    #
    # @param member [String]
    # @param value [String, nil] the value of the row
    # @return [nil]
    # @raise [InvalidRow]
    def restore(member, value) = restore_native(member, value)

    # @!method delete(member)
    #   @param member [String]
    #   @return [Integer, BigDecimal, Array, nil] the score that it had; nil when it was not there

    # @!method clear
    #   Removes all members.
    #   @return [nil]

    # Removes the members that rank behind the first ones.
    #
    # @param keep [Integer] how many stay
    # @return [Integer] how many were removed
    def trim(keep:)
      behind(keep).each { |row| delete(row.member) }.size
    end

    # @return [String]
    def inspect = "#<#{self.class} of #{size} members>"

    private

    def behind(keep)
      raise ArgumentError, "keep: must not be negative, but is #{keep}" if keep.negative?

      rows_native(keep, size, :ordinal)
    end

    private :submit_native, :submit_all_native, :place_native, :decide_native, :store_row_native, :restore_native, :ranks_native,
            :row_native, :rows_native, :around_native, :cursor_native, :page_native, :span_native, :histogram_native, :better_than_native,
            :row_json_native, :rows_json_native, :around_json_native, :submit_json_native
  end
end
