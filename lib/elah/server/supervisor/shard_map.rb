# frozen_string_literal: true

module Elah
  class Supervisor
    # The owner of each shard: evenly distributed, with as few moves as possible.
    module ShardMap
      # @param owners [Array<Integer, nil>] the slot of each shard, or nil
      # @param slots [Integer] the new number of slots
      # @return [Hash{Integer=>Integer}] the new owner of every shard that moves
      def self.moves(owners, slots)
        held = Array.new(slots) { [] }
        homeless = []
        owners.each_with_index { |owner, shard| (owner && owner < slots ? held[owner] : homeless) << shard }
        fewest, surplus = owners.size.divmod(slots)
        # The slots with the most shards keep the remainder of the division.
        order = (0...slots).sort_by { |slot| [-held[slot].size, slot] }
        room = order.each_with_index.to_h { |slot, rank| [slot, (rank < surplus ? fewest + 1 : fewest) - held[slot].size] }
        room.each { |slot, free| homeless.concat(held[slot].pop(-free)) if free.negative? }
        receivers = room.select { |_, free| free.positive? }.flat_map { |slot, free| [slot] * free }
        homeless.zip(receivers).to_h
      end
    end
  end
end
