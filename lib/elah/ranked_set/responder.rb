# frozen_string_literal: true

module Elah
  class RankedSet
    # Answers plain requests about the members of a set as {Texts} writes them, from the request to the response in one native call: no
    # object of Ruby is made for the member, the rows or the answer. A request that has a query, or for which there is nothing to say (its
    # member is not there, or its name is too long), is left alone: the handler answers it, and can say why.
    #
    #   RESPONDER = Elah::RankedSet::Responder.new(set, headers: { "content-type" => "application/json" }, list: ['{"size":', ',"rows":', "}"])
    #
    #   get("members/:member", raw: true) { RESPONDER.row(request) || answer_otherwise }
    class Responder
      class << self
        # @param set [RankedSet]
        # @param headers [HeaderSet, Hash] of every answer
        # @param list [Array(String, String, String)] what stands before the size of the set, between size and rows, and behind the rows of a
        #   list: JSON
        # @param member [String] the parameter of the route that names the member
        # @param member_bytes_max [Integer] longer names are left alone
        # @param index [Entity::Index, nil] of the entity that has the set: where {#submit} gathers rows, as {Texts#submit_json} does
        # @param prefix [String] the set's name in the index
        # @param operator [Symbol, nil] of a submission that names none; `:increment` and nil leave such ones alone
        # @param members_max [Integer] a new member of a set that has as many is left alone
        # @return [Responder]
        # @raise [TypeError] when `set` is no RankedSet, or `index` no index
        def new(set, headers:, list:, member: "member", member_bytes_max: 255, index: nil, prefix: "", operator: nil, members_max: MEMBERS_MAX)
          writes = [index, Arguments.prefix(prefix), operator, members_max] if index
          new_native(set, headers, member, member_bytes_max, list, writes)
        end

        private :new_native
      end

      # @!method row(request)
      #   Answers with a member, its rank and its score.
      #   @param request [Elah::Request]
      #   @return [Boolean] false when the request was left alone

      # @!method top(request, count)
      #   Answers with the first members. The text is kept until the set changes.
      #   @param request [Elah::Request]
      #   @param count [Integer]
      #   @return [Boolean] as of {#row}

      # @!method around(request, distance)
      #   Answers with a member between its neighbours.
      #   @param request [Elah::Request]
      #   @param distance [Integer] how many on each side, if there are so many
      #   @return [Boolean] as of {#row}

      # @!method submit(request)
      #   Submits the score of a body like `{"score":120,"operator":"set"}` for a member, and answers as {Texts#submit_json} does: when the
      #   row is as safe as the entity's class says, without a fiber that waits for that. If it cannot be stored, the handler of the request
      #   begins anew. To be called for an entity that {Entity::Region#idle} has just given.
      #
      #   Left alone are also a body of another type, with more members or with a number that has a point or an exponent, `increment`, and
      #   what the set refuses.
      #   @param request [Elah::Request]
      #   @yieldparam text [String] the answer, if the member's standing has changed
      #   @return [Boolean] as of {#row}
    end
  end
end
