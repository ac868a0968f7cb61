# frozen_string_literal: true

module Elah
  class RankedSet
    # Results of a ranked set as JSON, ready to be sent: one call and one String for any number of members. A member is
    # `{"rank":1,"member":"ann","score":120}`. An integer is a number. A score with decimals is a text with all its digits, because most programs
    # read decimal numbers inexactly. A score of several components is a list.
    #
    # The methods that read accept a block that adds members to each object. It receives the member and returns JSON such as `,"flag":"de"`, or nil.
    module Texts
      # A member with rank and score.
      #
      # @param member [String]
      # @param style [Symbol] see {Reads#rank}
      # @yieldparam member [String]
      # @yieldreturn [String, nil]
      # @return [String, nil] an object; nil for a member that is not there
      # @raise [JSON::GenerateError] when a name is not UTF-8
      def row_json(member, style: :ordinal, &more) = row_json_native(member, style, &more)

      # The first members.
      #
      # @param count [Integer]
      # @param style [Symbol]
      # @yieldparam member [String]
      # @yieldreturn [String, nil]
      # @return [String] a list
      # @raise (see #row_json)
      def top_json(count, style: :ordinal, &more) = rows_json_native(0, Arguments.limit(count, "count"), style, &more)

      # The members at some ranks, see {Reads#range}.
      #
      # @param ranks [Range<Integer, nil>]
      # @param style [Symbol]
      # @yieldparam member [String]
      # @yieldreturn [String, nil]
      # @return [String] a list
      # @raise (see #row_json)
      def range_json(ranks, style: :ordinal, &more) = rows_json_native(*Arguments.places(ranks, size), style, &more)

      # A member with its neighbours in the order.
      #
      # @param member [String]
      # @param distance [Integer] maximum number of neighbours on each side
      # @param style [Symbol]
      # @yieldparam member [String]
      # @yieldreturn [String, nil]
      # @return [String, nil] a list; nil for a member that is not there
      # @raise (see #row_json)
      def around_json(member, distance, style: :ordinal, &more) = around_json_native(member, Arguments.limit(distance, "distance"), style, &more)

      # Submits a score as {RankedSet#submit} does, and returns the effect:
      # `{"rank":1,"member":"ann","score":120,"previous_rank":null,"previous_score":null,"changed":true}`.
      #
      # In a call of an {Entity} it accepts an index of the entity. The member's row joins the other writes of the call before memory changes.
      # {RankedSet.load} reads it back.
      #
      # @param member [String]
      # @param score [Numeric, String, Array<Numeric, String>]
      # @param operator [Symbol]
      # @param style [Symbol]
      # @param index [Entity::Index, nil]
      # @param prefix [String] the set's name in the index
      # @return [String] an object
      # @raise [InvalidScore, InvalidMember, InvalidPrefix, Full, JSON::GenerateError] nothing has changed
      def submit_json(member, score, operator: :best, style: :ordinal, index: nil, prefix: "")
        submit_json_native(member, score, operator, style, index, prefix)
      end
    end
  end
end
