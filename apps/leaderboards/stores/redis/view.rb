# frozen_string_literal: true

module Leaderboards
  module Stores
    class Redis
      # What was read of a board in one step: the season, the members in number, the position of the first that follows (or how many there are in
      # all), and members with their places in the order; nil for one that is not there.
      View = Struct.new(:board, :season, :size, :first, :places, :rows) do
        # @param more [String, nil] JSON behind the members
        # @return [String]
        def to_json(more = nil)
          list = rows.any?(&:metadata) ? "[#{rows.map { |row| board.row_text(row) }.join(',')}]" : board.text.rows(rows)
          %({"season":#{season},"size":#{size},"members":#{list}#{more}})
        end
      end
    end
  end
end
