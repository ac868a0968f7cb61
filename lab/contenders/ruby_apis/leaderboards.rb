# frozen_string_literal: true

# Leaderboards on ActiveRecord, with the rules of specs/leaderboards.md that the lab measures. A rank is counted over an index, as in the
# original. What rails, grape, sinatra and em_synchrony have in common.
require "active_record"
require "json"
require_relative "database"
require_relative "problem"

module Leaderboards
  class Game < ActiveRecord::Base; end

  class Board < ActiveRecord::Base
    has_many :standings, dependent: nil
  end

  # The score of a member on a board. Of equal scores the one with the lower turn was there first.
  class Standing < ActiveRecord::Base
    belongs_to :board
    scope :by_rank, -> { order(score: :desc, turn: :asc) }
  end

  module_function

  LIMIT = 10
  DISTANCE = 5
  ROWS_PER_STATEMENT = 500

  # @param folder [String] of the database
  # @param threads [Integer] that will use it
  def open(folder, threads)
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

  # @return [Hash]
  def create_game(fields) = Game.create!(name: fields.fetch("name")).attributes

  # @return [Hash]
  def create_board(game_id, fields)
    game = Game.find_by(id: game_id) or raise Problem.new(404, "game_not_found")
    raise Problem.new(422, "invalid_settings") unless fields["name"].is_a?(String) && (fields.keys - ["name"]).empty?

    board = Board.create!(game_id: game.id, name: fields["name"])
    { id: board.id, game_id: game.id, name: board.name, operator: "best", order: ["desc"], decimals: [0], ties: "earliest" }
  end

  # Keeps the better score.
  # @return [Hash] what the submission did
  def submit(board_id, member, fields)
    score = fields["score"]
    raise Problem.new(422, "invalid_score") unless score.is_a?(Integer)

    Database.write do
      board = board(board_id)
      old = board.standings.find_by(member: member)
      previous = { previous_rank: old && rank(old), previous_score: old&.score }
      changed = old.nil? || score > old.score
      new = changed ? put(board, member, score, old) : old
      { rank: changed ? rank(new) : previous[:previous_rank], member: member, score: new.score, **previous, changed: changed }
    end
  end

  # @param text [String] a JSON object per line
  # @return [Hash]
  def import(board_id, text)
    members = text.each_line.map { |line| JSON.parse(line).then { |fields| [fields.fetch("member"), Integer(fields.fetch("score"))] } }
    Database.write do
      board = board(board_id)
      rows = members.each.with_index(board.turns + 1).map { |(member, score), turn| { board_id: board.id, member: member, score: score, turn: turn } }
      rows.each_slice(ROWS_PER_STATEMENT) { |some| Standing.upsert_all(some, unique_by: %i[board_id member]) }
      board.update!(turns: board.turns + rows.size)
    end
    { lines: members.size, imported: members.size, failed: 0, failures: [] }
  rescue JSON::ParserError, KeyError, TypeError, ArgumentError
    raise Problem.new(400, "invalid_body")
  end

  # @return [Hash] rank, member, score
  def standing(board_id, member)
    found = standing_of(board_id, member)
    { rank: rank(found), member: member, score: found.score }
  end

  def top(board_id, limit)
    standings = board(board_id).standings
    list(standings, standings.by_rank.limit(limit || LIMIT), 1)
  end

  # Those who are near a member, above and below.
  def around(board_id, member, distance)
    standings = board(board_id).standings
    middle = rank(standing_of(board_id, member))
    first = [middle - (distance || DISTANCE).to_i, 1].max
    list(standings, standings.by_rank.offset(first - 1).limit(middle - first + (distance || DISTANCE).to_i + 1), first)
  end

  def board(id) = Board.find_by(id: id) || raise(Problem.new(404, "leaderboard_not_found"))
  def standing_of(board_id, member) = board(board_id).standings.find_by(member: member) || raise(Problem.new(404, "member_not_found"))

  # Two counts, for SQLite takes one index for each.
  def rank(standing)
    others = Standing.where(board_id: standing.board_id)
    1 + others.where("score > ?", standing.score).count + others.where("score = ? AND turn < ?", standing.score, standing.turn).count
  end

  def put(board, member, score, old)
    board.increment!(:turns)
    fields = { score: score, turn: board.turns }
    old ? old.tap { old.update!(fields) } : board.standings.create!(member: member, **fields)
  end

  def list(standings, chosen, first)
    members = chosen.pluck(:member, :score).each_with_index.map { |(member, score), index| { rank: first + index, member: member, score: score } }
    { season: 1, size: standings.count, members: members }
  end
end
