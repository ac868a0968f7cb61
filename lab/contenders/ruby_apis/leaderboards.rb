# frozen_string_literal: true

# Leaderboards with the rules of specs/leaderboards.md that the lab measures, in tables or in Redis: what the contenders rails, grape, sinatra and
# em_synchrony have in common; each adds its routes.
require "json"
require_relative "problem"

module Leaderboards
  module_function

  LIMIT = 10
  DISTANCE = 5

  class << self
    # @return [Rows, SortedSets]
    attr_reader :store
  end

  # @param folder [String] of the database
  # @param threads [Integer] that will use it
  def open(folder, threads)
    if ENV.fetch("STORE", "").start_with?("redis:")
      require_relative "leaderboards/sorted_sets"
      @store = SortedSets.new(ENV.fetch("STORE"))
    else
      require_relative "leaderboards/rows"
      @store = Rows.new(folder, threads)
    end
  end

  # @return [Hash]
  def create_game(fields) = { id: store.create_game(fields.fetch("name")), name: fields["name"] }

  # @return [Hash]
  def create_board(game_id, fields)
    raise Problem.new(422, "invalid_settings") unless fields["name"].is_a?(String) && (fields.keys - ["name"]).empty?

    id = store.create_board(game_id, fields["name"]) or raise Problem.new(404, "game_not_found")
    { id: id, game_id: Integer(game_id), name: fields["name"], operator: "best", order: ["desc"], decimals: [0], ties: "earliest" }
  end

  # Keeps the better score.
  # @return [Hash] what the submission did
  def submit(board_id, member, fields)
    raise Problem.new(422, "invalid_score") unless fields["score"].is_a?(Integer)

    store.submit(board(board_id), member, fields["score"])
  end

  # @param text [String] a JSON object per line
  # @return [Hash]
  def import(board_id, text)
    members = text.each_line.map { |line| JSON.parse(line).then { |fields| [fields.fetch("member"), Integer(fields.fetch("score"))] } }
    store.import(board(board_id), members)
    { lines: members.size, imported: members.size, failed: 0, failures: [] }
  rescue JSON::ParserError, KeyError, TypeError, ArgumentError
    raise Problem.new(400, "invalid_body")
  end

  # @return [Hash] rank, member, score
  def standing(board_id, member)
    rank, score = store.standing(board(board_id), member) || raise(Problem.new(404, "member_not_found"))
    { rank: rank, member: member, score: score }
  end

  # @return [Hash] the first members
  def top(board_id, limit) = list(store.top(board(board_id), (limit || LIMIT).to_i))

  # @return [Hash] those who are near a member, above and below
  def around(board_id, member, distance)
    list(store.around(board(board_id), member, (distance || DISTANCE).to_i) || raise(Problem.new(404, "member_not_found")))
  end

  # @return [Object] what the store knows a board by
  def board(id) = store.board(id) || raise(Problem.new(404, "leaderboard_not_found"))

  # @param found [Array] rank of the first, how many members the board has, and of each its name and its score
  def list(found)
    first, size, members = found
    { season: 1, size: size, members: members.each_with_index.map { |(member, score), index| { rank: first + index, member: member, score: score } } }
  end
end
