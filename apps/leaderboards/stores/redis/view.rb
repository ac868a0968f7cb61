# frozen_string_literal: true

module Leaderboards
  module Stores
    class Redis
      # The result of a read in one step: the season, the number of members, the position of the first one returned (or the total
      # number), and members with their positions in the order; nil for a missing one.
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
