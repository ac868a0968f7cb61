# frozen_string_literal: true

module Leaderboards
  # Owns how the members of one board are written as JSON. An integer is a number; a score with decimals is a text that keeps its digits,
  # since a number with a point is not exact in most programs; a score of several components is a list.
  class Text
    # Names that are written as they are.
    PLAIN = /\A[\w.:@ -]*\z/

    # @param definition [Definition]
    def initialize(definition)
      @decimals = definition.decimals
      @is_integer = @decimals == [0]
    end

    # @param row [#member, #rank, #score]
    # @param metadata [String, nil] JSON
    # @param position [Integer, nil] among some members
    # @return [String] a member with rank and score
    def row(row, metadata = nil, position = nil)
      %({#{position && %("position":#{position},)}"rank":#{row.rank},"member":#{name(row.member)},) +
        %("score":#{score(row.score)}#{metadata && %(,"metadata":#{metadata})}})
    end

    # @param submission [Elah::RankedSet::Submission] or what else has its members
    # @return [String] what a submission did
    def submission(submission)
      previous_score = submission.previous_score
      %({"rank":#{submission.rank},"member":#{name(submission.member)},"score":#{score(submission.score)},) +
        %("previous_rank":#{submission.previous_rank || 'null'},"previous_score":#{previous_score ? score(previous_score) : 'null'},) +
        %("changed":#{submission.changed}})
    end

    # @param score [Integer, BigDecimal, Array]
    # @return [String] JSON
    def score(score)
      return score.to_s if @is_integer
      return component(score, @decimals.first) unless score.is_a?(Array)

      "[#{score.each_with_index.map { |part, index| component(part, @decimals[index]) }.join(',')}]"
    end

    # @param score [Integer, BigDecimal, Array]
    # @return [Array<Integer>] its components, each in units of its last digit
    def components(score) = Array(score).each_with_index.map { |part, index| (part * (10**@decimals[index])).to_i }

    # @param value [Integer, BigDecimal] of the first component
    # @return [String] JSON
    def first(value) = component(value, @decimals.first)

    # @param name [String]
    # @return [String] JSON
    def name(name) = name.match?(PLAIN) ? %("#{name}") : Elah::JSON.generate(name.dup.force_encoding(Encoding::UTF_8).scrub)

    private

    def component(value, digits)
      return value.to_s if digits.zero?

      whole, fraction = value.to_s("F").split(".")
      %("#{whole}.#{fraction.ljust(digits, '0')}")
    end
  end
end
