# frozen_string_literal: true

module Elah
  class RankedSet
    # Answers plain requests about the members of the set of an entity as {Texts} writes them, from the request to the response in one native
    # call, before the handler of the route begins: no object of Ruby is made for the member, the rows or the answer. {EntityResponder} is
    # what a route is given; it asks the entity that the path names for one of these.
    #
    # A request that has a query, or for which there is nothing to say (its member is not there, or its name is too long), is left alone: the
    # handler answers it, and can say why. So is a submission with a body of another type, with more members than `score` and `operator`, or
    # with a number that has a point or an exponent, `increment`, and what the set refuses.
    class Responder
      class << self
        # @param set [RankedSet]
        # @param headers [HeaderSet, Hash] of every answer
        # @param list [Array(String, String, String)] what stands before the size of the set, between size and rows, and behind the rows of a
        #   list: JSON
        # @param member [String] the parameter of the route that names the member
        # @param member_bytes_max [Integer] longer names are left alone
        # @param index [Entity::Index, nil] of the entity that has the set: where submissions gather rows, as {Texts#submit_json} does; nil
        #   leaves submissions alone
        # @param prefix [String] the set's name in the index
        # @param operator [Symbol, nil] of a submission that names none; `:increment` and nil leave such ones alone
        # @param members_max [Integer] a new member of a set that has as many is left alone
        # @param changed [#call, nil] gets the answer, a String, to each submission that has changed something; it must not wait or start fibers
        # @return [Responder]
        # @raise [TypeError] when `set` is no RankedSet, or `index` no index
        def new(set, headers:, list:, member: "member", member_bytes_max: 255, index: nil, prefix: "", operator: nil, members_max: MEMBERS_MAX,
                changed: nil)
          writes = [index, Arguments.prefix(prefix), operator, members_max, changed] if index
          new_native(set, headers, member, member_bytes_max, list, writes)
        end

        private :new_native
      end
    end
  end
end
