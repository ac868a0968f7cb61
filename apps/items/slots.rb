# frozen_string_literal: true

module Items
  # The rule by which stores keep positions dense. The n items of a scope (all items, or those with a tag) have the positions 0 to
  # n - 1, each exactly one. So a uniform position is a uniform item, and no look-up depends on deletions. A new item gets
  # position n; after deletions the last items move into the holes.
  module Slots
    # The scope of all items; any other is a tag.
    ALL = ""

    # @param count [Integer] the items of the scope
    # @param holes [Array<Integer>] the positions of those that go
    # @return [Array<Array(Integer, Integer)>] from where to where the others move
    def self.moves(count, holes)
      left = count - holes.size
      going = holes.to_h { |position| [position, true] }
      (left...count).reject { |position| going.key?(position) }.zip(holes.select { |position| position < left }.sort)
    end
  end
end
