# frozen_string_literal: true

module Elah
  class Supervisor
    # Which slot owns which shard: as even as can be, with as few moves as that takes.
    module ShardMap
      # @param owners [Array<Integer, nil>] the slot of each shard; nil for one that has none
      # @param slots [Integer] how many slots there are to be
      # @return [Hash{Integer=>Integer}] the new owner of every shard that moves
      def self.moves(owners, slots)
        held = Array.new(slots) { [] }
        homeless = []
        owners.each_with_index { |owner, shard| (owner && owner < slots ? held[owner] : homeless) << shard }
        fewest, surplus = owners.size.divmod(slots)
        # Whoever has most keeps the one more that cannot be divided.
        order = (0...slots).sort_by { |slot| [-held[slot].size, slot] }
        room = order.each_with_index.to_h { |slot, rank| [slot, (rank < surplus ? fewest + 1 : fewest) - held[slot].size] }
        room.each { |slot, free| homeless.concat(held[slot].pop(-free)) if free.negative? }
        receivers = room.select { |_, free| free.positive? }.flat_map { |slot, free| [slot] * free }
        homeless.zip(receivers).to_h
      end
    end
  end
end
