# frozen_string_literal: true

require_relative "boards/standings"
require_relative "errors"
require_relative "text"

module Leaderboards
  # Owns one board where it lives: the entity of its id. Answers are JSON, so that one of another worker is passed on as it is.
  class Board < Elah::Entity
    entity_name "leaderboards"
    index :members

    # Loads the members.
    def restore
      @definition = Leaderboards.service.directory.find(key.to_i) or return
      @text = Text.new(@definition)
      @standings = Boards::Standings.new(index(:members), Board.in(Leaderboards.service.store).index(:members), "#{key}/0", @definition)
      @set = @standings.set
    end

    # @param member [String]
    # @param score [Object]
    # @param operator [Symbol, nil] nil is the board's own
    # @param style [Symbol]
    # @return [String] what the submission did
    def submit(member, score, operator, style)
      look
      @text.submission(@standings.submit(member, score, operator || @definition.operator, style))
    end

    # @param count [Integer]
    # @param style [Symbol]
    # @return [String] the first members
    def top(count, style)
      look
      rows(@set.top(count, style: style))
    end

    # @param member [String]
    # @param style [Symbol]
    # @return [String] the member
    def show(member, style)
      look
      @text.row(@set[member, style: style] || no_member!(member))
    end

    # @param member [String]
    # @param distance [Integer]
    # @param style [Symbol]
    # @return [String] the member between its neighbours
    def around(member, distance, style)
      look
      rows(@set.around(member, distance, style: style) || no_member!(member))
    end

    # @param first [Integer] the ordinal rank of the first
    # @param last [Integer]
    # @param style [Symbol]
    # @return [Array<Elah::RankedSet::Row>]
    def range(first, last, style)
      look
      @set.range(first..last, style: style)
    end

    # @param member [String]
    # @param style [Symbol]
    # @return [Elah::RankedSet::Row]
    def row(member, style)
      look
      @set[member, style: style] || no_member!(member)
    end

    # @return [Integer] members
    def size
      look
      @set.size
    end

    private

    def look
      @definition or raise BoardNotFound, "There is no leaderboard #{key}."
    end

    def rows(rows)
      %({"size":#{@set.size},"members":[#{rows.map { |row| @text.row(row) }.join(',')}]})
    end

    def no_member!(member) = raise(MemberNotFound, "The leaderboard has no member #{member.inspect[0, 64]}.")
  end
end
