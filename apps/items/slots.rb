# frozen_string_literal: true

module Items
  # Owns the rule by which stores keep positions dense. The n items of a scope (all items, or those with a tag) have the positions
  # 0 to n - 1, each exactly one; so a position that is drawn uniformly is an item that is drawn uniformly, and no look-up
  # depends on what was deleted. An item that comes takes position n; where items go, the last ones move into the holes.
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
