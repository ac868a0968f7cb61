# frozen_string_literal: true

# The Ruby half of ranked sets: keywords, defaults and documentation. The other half is native (ext/elah/src/collections/ranked_set.rs).
require_relative "ranked_set/errors"
require_relative "ranked_set/results"
require_relative "ranked_set/arguments"
require_relative "ranked_set/reads"
require_relative "ranked_set/statistics"
require_relative "ranked_set/stored"
require_relative "ranked_set/texts"

module Elah
  # Members in the order of their scores, with ranks. Submitting a score, deleting a member, the rank of a member, the member at a rank and the
  # count of a range of scores each take logarithmic time.
  #
  # Members are Strings of up to 10,240 bytes. Only their bytes count. They are returned frozen, in UTF-8 where that is valid, else binary. Scores
  # are exact: 64-bit integers or, with `decimals:`, decimals with that many digits, returned as BigDecimal. A score that does not fit raises
  # {InvalidScore}; none is rounded.
  #
  # The set lives in memory. {.open} returns one whose members are in a table of {Elah::Store}.
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

    # Default of `members_max:`.
    MEMBERS_MAX = 100_000_000

    class << self
      # Creates an empty set.
      #
      # @param order [Symbol, Array<Symbol>] `:desc` (the larger score ranks first) or `:asc`; an Array for scores of several
      #   components, up to 8, which are compared one after the other
      # @param decimals [Integer, Array<Integer>] digits after the decimal point of a component, up to 18; an Integer applies to all components
      # @param ties [Symbol] order of equal scores: `:earliest` (the earlier member ranks first) or `:member` (by the bytes of the names)
      # @param members_max [Integer] number of members from which on submissions of new members raise {Full}
      # @return [Elah::RankedSet]
      # @raise [InvalidOrder]
      def new(order: :desc, decimals: 0, ties: :earliest, members_max: MEMBERS_MAX)
        new_native(*Arguments.order(order, decimals, ties), Arguments.limit(members_max, "members_max"))
      end

      # Opens a set whose members are rows of a table: loads them, and stores every write before it returns. The rows are loaded in a
      # separate thread; the calling fiber waits. The set belongs to the process that opened it last: in any other one, forks included, writes raise
      # {Elah::Store::OpenedElsewhere}, and reads return what that process knows. It loads all rows, even beyond `members_max:`.
      #
      # @param store [Elah::Store]
      # @param table [String] the name of a table that holds nothing but ranked sets
      # @param prefix [String] the set's name in the table, up to 222 bytes
      # @param settings [Hash{Symbol=>Object}] as in {.new}
      # @option settings [Symbol, Array<Symbol>] :order
      # @option settings [Integer, Array<Integer>] :decimals
      # @option settings [Symbol] :ties
      # @option settings [Integer] :members_max
      # @return [Elah::RankedSet::Stored]
      # @raise [InvalidRow] when the rows belong to a set with another order
      # @raise [InvalidOrder, InvalidPrefix, Elah::Store::Error]
      def open(store, table, prefix: "", **settings)
        table = store.table(table)
        Store::Ownership.take(store, table, prefix) { |ownership| Stored.new(load(table, prefix: prefix, **settings), table, prefix, ownership) }
      end

      # Loads a set from the rows of a table, without a connection to the table. Use it when you write the rows yourself, with {#row} in your own
      # transaction.
      #
      # @param table [Elah::Store::Table, Elah::Entity::Index]
      # @param prefix [String]
      # @param (see .new)
      # @return [Elah::RankedSet]
      # @raise (see .open)
      def load(table, prefix: "", order: :desc, decimals: 0, ties: :earliest, members_max: MEMBERS_MAX)
        arguments = [prefix, *Arguments.order(order, decimals, ties), Arguments.limit(members_max, "members_max")]
        return load_native(table, *arguments) if table.is_a?(Store::Table)

        # Keys begin with the length of the prefix (crates/elah-ranked-set/src/row.rs). Rows of a cluster or an index cannot be read without waiting.
        load_rows_native(table.each(prefix: [prefix.bytesize, prefix].pack("Ca*")).to_a, *arguments)
      end

      private :new_native, :load_native, :load_rows_native, :structs_native, :store_key_native
    end

    structs_native(Row, Submission, Decision)

    # Submits a score.
    #
    # `:best` keeps the score that ranks first, `:min` the smaller, `:max` the larger. `:set` replaces the score. `:increment` adds, component by
    # component. `:last` replaces it too, and counts as reached now even if the score is equal. A score of several components is one attempt: its
    # components are never mixed with those of another.
    #
    # With `ties: :earliest`, a member moves behind its equals when its score changes, or with `:last`. A submission that leaves the score unchanged
    # keeps the member's place.
    #
    # @param member [String]
    # @param score [Numeric, String, Array<Numeric, String>] a finite number; a Float counts as its shortest decimal, a String is one
    #   like "-12.50" or "1e3"
    # @param operator [Symbol] `:best`, `:set`, `:increment`, `:min`, `:max` or `:last`
    # @param style [Symbol] the style of the returned ranks, see {Reads#rank}
    # @return [Submission]
    # @raise [InvalidScore, InvalidMember, Full] nothing has changed
    def submit(member, score, operator: :best, style: :ordinal)
      submit_native(member, score, operator, style)
    end

    # Submits many scores in order, or none if there is an error. Faster than one call per score.
    #
    # @param scores [Hash{String=>Object}, Array<Array(String, Object)>] members and scores, as for {#submit}
    # @param operator [Symbol] see {#submit}
    # @return [Integer] number of submissions that changed the standing of their member
    # @raise (see #submit)
    def submit_all(scores, operator: :best) = submit_all_native(scores.to_a, operator)

    # Reverts a submission: the member gets its previous score and place. Of several submissions for one member, revert the last one first.
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

    # Computes the effect of {#submit} without changing the set. Store the decision first and then {#apply} it, so that memory is never ahead of the
    # disk. Submit nothing else for the member in between. Decisions for several new members may exceed `members_max:` together.
    #
    # @param (see #submit)
    # @return [Decision, nil] nil when the member's score does not change
    # @raise (see #submit)
    def decide(member, score, operator: :best) = decide_native(member, score, operator)

    # Applies a decision.
    #
    # @param decision [Decision]
    # @param style [Symbol]
    # @return [Submission]
    def apply(decision, style: :ordinal)
      place_native(decision.member, decision.score, decision.sequence, style)
    end

    # The row that stores a member in a table, as {.load} reads it: `tx.put(table, *set.row(decision))`.
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

    # Sets a member from its row in a table; without a row it removes the member.
    #
    # @param member [String]
    # @param value [String, nil] the value of the row
    # @return [nil]
    # @raise [InvalidRow]
    def restore(member, value) = restore_native(member, value)

    # @!method delete(member)
    #   @param member [String]
    #   @return [Integer, BigDecimal, Array<Integer, BigDecimal>, nil] its score; nil when there is no such member

    # @!method clear
    #   Removes all members.
    #   @return [nil]

    # Removes the members that rank after the first ones.
    #
    # @param keep [Integer] number of members that stay
    # @return [Integer] number of removed members
    def trim(keep:)
      behind(keep).each { |row| delete(row.member) }.size
    end

    # @return [String]
    def inspect = "#<#{self.class} of #{size} members>"

    private

    def behind(keep)
      rows_native(Arguments.limit(keep, "keep"), size, :ordinal)
    end

    private :submit_native, :submit_all_native, :place_native, :decide_native, :store_row_native, :restore_native, :ranks_native,
            :row_native, :rows_native, :around_native, :cursor_native, :page_native, :span_native, :histogram_native, :better_than_native,
            :row_json_native, :rows_json_native, :around_json_native, :submit_json_native
  end
end
