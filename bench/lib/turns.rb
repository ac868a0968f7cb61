# frozen_string_literal: true

require_relative "statistics"

module Bench
  # Owns the order in which sides are measured, A B, B A, A B and so on, so that a slow drift of the machine meets all alike, and their
  # comparison round by round, so that its range shows the noise.
  module Turns
    module_function

    # @param sides [Array<Object>]
    # @param rounds [Integer]
    # @yieldparam side [Object]
    # @yieldreturn [Object] a run
    # @return [Hash{Object=>Array<Object>}] the runs of each side, in the order of the rounds
    def take(sides, rounds)
      runs = sides.to_h { |side| [side, []] }
      rounds.times { |round| (round.even? ? sides : sides.reverse).each { |side| runs[side] << yield(side) } }
      runs
    end

    # @param left [Array<Hash>] runs of one side
    # @param right [Array<Hash>] runs of another
    # @param key [Symbol] of a figure
    # @return [Hash{Symbol=>Float}] the left one's figure over the right one's, as {Statistics.spread} gives it
    def ratio(left, right, key) = Statistics.spread(left.zip(right).map { |one, other| one[key] / other[key].to_f })
  end
end
