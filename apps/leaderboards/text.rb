# frozen_string_literal: true

module Leaderboards
  # The JSON of one board's members. An integer is a number. A score with decimals is a string with all its digits, because most
  # programs read decimal numbers inexactly. A score of several components is a list.
  class Text
    # @param definition [Definition]
    def initialize(definition)
      @decimals = definition.decimals
      @is_whole = @decimals.all?(&:zero?)
    end

    # @param row [Elah::RankedSet::Row]
    # @param metadata [String, nil] JSON
    # @param position [Integer, nil] among some members
    # @return [String] a member with rank and score
    def row(row, metadata = nil, position = nil)
      return Elah::JSON.generate(whole(row)) if @is_whole && !metadata && !position

      %({#{position && %("position":#{position},)}"rank":#{row.rank},"member":#{name(row.member)},) +
        %("score":#{score(row.score)}#{metadata && %(,"metadata":#{metadata})}})
    end

    # @param rows [Array<Elah::RankedSet::Row>] of members without metadata
    # @return [String] a list of them
    def rows(rows) = @is_whole ? Elah::JSON.generate(rows.map { |row| whole(row) }) : "[#{rows.map { |row| row(row) }.join(',')}]"

    # @param submission [Elah::RankedSet::Submission] or another object with its members
    # @return [String] the result of a submission
    def submission(submission)
      score = submission.score
      previous_score = submission.previous_score
      unless @is_whole
        score = values(score)
        previous_score &&= values(previous_score)
      end
      Elah::JSON.generate({ rank: submission.rank, member: submission.member, score: score, previous_rank: submission.previous_rank,
                            previous_score: previous_score, changed: submission.changed })
    end

    # @param score [Integer, BigDecimal, Array]
    # @return [String] JSON
    def score(score) = @is_whole && score.is_a?(Integer) ? score.to_s : Elah::JSON.generate(values(score))

    # @param score [Integer, BigDecimal, Array]
    # @return [Integer, String, Array] as JSON has it
    def values(score)
      return value(score, @decimals.first) unless score.is_a?(Array)

      score.each_with_index.map { |part, index| value(part, @decimals[index]) }
    end

    # @param score [Integer, BigDecimal, Array]
    # @return [Array<Integer>] its components, each in units of its last digit
    def components(score) = Array(score).each_with_index.map { |part, index| (part * (10**@decimals[index])).to_i }

    # @param number [Integer, BigDecimal] of the first component
    # @return [String] JSON
    def first(number) = Elah::JSON.generate(value(number, @decimals.first))

    # @param name [String]
    # @return [String] JSON
    def name(name) = Elah::JSON.generate(name)

    private

    def whole(row) = { rank: row.rank, member: row.member, score: row.score }

    def value(number, digits)
      return number.to_i if digits.zero?

      whole, fraction = number.to_s("F").split(".")
      "#{whole}.#{fraction.ljust(digits, '0')}"
    end
  end
end
