# frozen_string_literal: true

require "redis"

module Leaderboards
  # Boards in Redis, a sorted set for each, with a connection per thread. Whatever is asked of a board is one script.
  class SortedSets
    SCRIPTS = %i[submit standing list].to_h { |name| [name, File.read(File.expand_path("../../redis/#{name}.lua", __dir__))] }

    def initialize(url)
      @url = url
      @scripts = SCRIPTS.transform_values { |text| redis.script(:load, text) }
      @boards = {} # none is ever deleted here
    end

    # @return [Integer] id
    def create_game(name) = redis.incr("ids").tap { |id| redis.hset("games", id, name) }

    # @return [Integer, nil] id; nil without the game
    def create_board(game_id, name)
      redis.incr("ids").tap { |id| redis.hset("boards", id, name) } if redis.hexists("games", game_id)
    end

    # @return [Array<String>, nil] its keys
    def board(id) = @boards[id] ||= redis.hexists("boards", id) ? ["board:#{id}", "board:#{id}:entries"] : nil

    # @return [Hash] what the submission did
    def submit(board, member, score)
      rank, kept, previous_rank, previous_score, changed = run(:submit, board, member, score)
      previous_rank, previous_score = previous_rank.positive? ? [previous_rank, Integer(previous_score)] : nil
      { rank: rank, member: member, score: Integer(kept), previous_rank: previous_rank, previous_score: previous_score, changed: changed == 1 }
    end

    # @param members [Array<Array(String, Integer)>]
    def import(board, members)
      redis.pipelined { |pipeline| members.each { |member| pipeline.evalsha(@scripts[:submit], board, member) } }
    end

    # @return [Array(Integer, Integer), nil] rank and score
    def standing(board, member) = run(:standing, board, member)&.then { |rank, score| [rank, Integer(score)] }

    # @return [Array] rank of the first, how many members there are, and some of them
    def top(board, limit) = listed(run(:list, board, "", limit))

    # @return [Array, nil] the same; nil without the member
    def around(board, member, distance) = run(:list, board, member, distance)&.then { |answer| listed(answer) }

    private

    def run(script, board, *values) = redis.evalsha(@scripts[script], board, values)

    def listed(answer)
      first, size, members = answer
      [first, size, members.each_slice(2).map { |member, score| [member, Integer(score)] }]
    end

    def redis = Thread.current[:leaderboards_redis] ||= Redis.new(url: @url)
  end
end
