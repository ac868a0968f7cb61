# frozen_string_literal: true

require_relative "../database"

module Leaderboards
  # Boards in tables. A rank is counted over an index, as in the original.
  class Rows
    class Game < ActiveRecord::Base; end

    class Board < ActiveRecord::Base
      has_many :standings, dependent: nil
    end

    # The score of a member on a board. Of equal scores the one with the lower turn was there first.
    class Standing < ActiveRecord::Base
      belongs_to :board
      scope :by_rank, -> { order(score: :desc, turn: :asc) }
    end

    ROWS_PER_STATEMENT = 500
    TURN = "UPDATE boards SET turns = turns + 1 WHERE id = ? RETURNING turns"

    def initialize(folder, threads)
      Database.open(folder, "leaderboards", threads) do
        create_table(:games) { |table| table.string :name, null: false }
        create_table(:boards) do |table|
          table.references :game, null: false
          table.string :name, null: false
          table.integer :turns, null: false, default: 0
        end
        create_table(:standings) do |table|
          table.integer :board_id, null: false
          table.string :member, null: false
          table.integer :score, null: false
          table.integer :turn, null: false
          table.index %i[board_id member], unique: true
          table.index %i[board_id score turn]
        end
      end
    end

    # @return [Integer] id
    def create_game(name) = Game.create!(name: name).id

    # @return [Integer, nil] id; nil without the game
    def create_board(game_id, name) = Game.exists?(game_id) ? Board.create!(game_id: game_id, name: name).id : nil

    # @return [Board, nil]
    def board(id) = Board.find_by(id: id)

    # @return [Hash] what the submission did
    def submit(board, member, score)
      Database.write do
        old = board.standings.find_by(member: member)
        previous = { previous_rank: old && rank(old), previous_score: old&.score }
        changed = old.nil? || score > old.score
        new = changed ? put(board, member, score, old) : old
        { rank: changed ? rank(new) : previous[:previous_rank], member: member, score: new.score, **previous, changed: changed }
      end
    end

    # @param members [Array<Array(String, Integer)>]
    def import(board, members)
      Database.write do
        board.reload
        rows = members.each.with_index(board.turns + 1).map do |(member, score), turn|
          { board_id: board.id, member: member, score: score, turn: turn }
        end
        rows.each_slice(ROWS_PER_STATEMENT) { |some| Standing.upsert_all(some, unique_by: %i[board_id member]) }
        board.update!(turns: board.turns + rows.size)
      end
    end

    # @return [Array(Integer, Integer), nil] rank and score
    def standing(board, member) = board.standings.find_by(member: member)&.then { |found| [rank(found), found.score] }

    # @return [Array] rank of the first, how many members there are, and some of them
    def top(board, limit) = [1, board.standings.count, board.standings.by_rank.limit(limit).pluck(:member, :score)]

    # @return [Array, nil] the same; nil without the member
    def around(board, member, distance)
      middle = standing(board, member)&.first or return
      first = [middle - distance, 1].max
      [first, board.standings.count, board.standings.by_rank.offset(first - 1).limit(middle - first + distance + 1).pluck(:member, :score)]
    end

    private

    # Two counts, for SQLite takes one index for each.
    def rank(standing)
      others = Standing.where(board_id: standing.board_id)
      1 + others.where("score > ?", standing.score).count + others.where("score = ? AND turn < ?", standing.score, standing.turn).count
    end

    def put(board, member, score, old)
      fields = { score: score, turn: Database.rows(TURN, board.id).first["turns"] }
      old ? old.tap { old.update!(fields) } : board.standings.create!(member: member, **fields)
    end
  end
end
