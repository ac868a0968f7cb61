# frozen_string_literal: true

require_relative "../../../test/test_helper"
require "elah/api"
require "fileutils"
require "json"
require "tmpdir"
require_relative "../api"
require_relative "../stores/embedded"

# A test with a store of its own and a clock that it moves.
class BoardCase < Minitest::Test
  HOUR = 3600
  DAY = 86_400

  Clock = Struct.new(:now)

  def setup
    @dir = Dir.mktmpdir("leaderboards")
    @clock = Clock.new(Time.utc(2026, 3, 28, 12).to_i)
    open
    @game = @service.directory.create_game("Karts")[:id].to_s
  end

  def teardown
    Elah::Entity::Collection.flush_all
    @store.close
    FileUtils.remove_entry(@dir)
  end

  # Most tests are about what a board does, not about the disk.
  def durability = :memory

  def open
    @store_clock ||= Elah::Store::Clock.new
    @store = Elah::Store.open(@dir, clock: @store_clock)
    @scores = Leaderboards::Stores::Embedded.new(@store, durability: durability)
    @service = Leaderboards.service = Leaderboards::Service.new(@store, scores: @scores, clock: @clock)
  end

  # Opens the store again, like a new process.
  def reopen
    @scores.boards.flush
    @scores.boards.reset
    open
  end

  # @return [Integer] rows that are stored
  def rows(*names)
    @scores.boards.flush
    names.map { |name| @scores.boards.index(name).size }
  end

  # @return [Leaderboards::Definition]
  def create(**fields)
    @service.directory.create({ "name" => "Points", **fields.transform_keys(&:to_s) }, game_id: @game)
  end

  def submit(board, member, score, operator = nil)
    JSON.parse(@scores.submit(board, member, score, operator, :ordinal))
  end

  def increment(board, member, amount, key)
    text, is_replay = @scores.increment(board, member, amount, key, :ordinal)
    [JSON.parse(text), is_replay]
  end

  def score_and_replay(increment) = [increment.first["score"], increment.last]

  def json(text) = JSON.parse(text)

  # @return [Array<Array(String, Object)>] members with scores
  def top(board, season = nil)
    JSON.parse(@scores.top(board, 1000, :ordinal, season))["members"].map { |row| row.values_at("member", "score") }
  end

  def season(board) = @scores.seasons(board, 1).first.number
end
