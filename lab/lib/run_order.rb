# frozen_string_literal: true

module Lab
  # The order of runs: every contender once per round, every other round backwards (A B C, C B A), so that a slow drift of the machine
  # meets all alike.
  class RunOrder
    include Enumerable

    # @param contenders [Array<Object>]
    # @param rounds [Integer]
    # @param done [Integer] rounds that have been
    def initialize(contenders, rounds, done: 0)
      @contenders = contenders
      @rounds = rounds
      @done = done
    end

    # @yieldparam contender [Object]
    # @yieldparam round [Integer] from 1 on
    def each
      (@done + 1).upto(@rounds) do |round|
        (round.odd? ? @contenders : @contenders.reverse).each { |contender| yield contender, round }
      end
    end
  end
end
