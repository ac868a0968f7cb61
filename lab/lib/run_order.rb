# frozen_string_literal: true

module Lab
  # The order of runs: every contender once per round, every other round backwards (A B C, C B A), so that a slow drift of the machine
  # meets all alike.
  class RunOrder
    include Enumerable

    # @param contenders [Array<Object>]
    # @param rounds [Integer]
    def initialize(contenders, rounds)
      @contenders = contenders
      @rounds = rounds
    end

    # @yieldparam contender [Object]
    # @yieldparam round [Integer] from 1 on
    def each
      1.upto(@rounds) do |round|
        (round.odd? ? @contenders : @contenders.reverse).each { |contender| yield contender, round }
      end
    end

    # @return [Integer] runs in all
    def size = @contenders.size * @rounds
  end
end
