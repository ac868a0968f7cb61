# frozen_string_literal: true

require_relative "redis_store_cases"
require_relative "../service"

# The store in Redis beside a ranked set in memory, on one server.
class LeaderboardsRedisStoreTest < Minitest::Test
  include RedisStoreCases

  def open_redis = Elah::Redis.new(Servers::Redis.shared.url)

  def test_a_full_server_refuses_scores_and_serves_reads
    board = board_of
    @store.submit(board, "ann", 5, nil, :ordinal)
    @redis.call("CONFIG", "SET", "maxmemory", "1")
    assert_raises(Elah::Store::Full) { @store.submit(board, "bob", 6, nil, :ordinal) }
    assert_equal 5, @store.row(board, "ann", :ordinal).score
    assert_equal 1, @store.size(board)
  ensure
    @redis.call("CONFIG", "SET", "maxmemory", "0")
  end

  # The result of a part, which says that it was applied, was kept for a day, also while the write was not finished.
  def test_the_results_of_a_write_to_several_boards_are_kept_until_it_is_finished
    boards = Array.new(2) { board_of }
    Leaderboards.service = Struct.new(:directory, :clock).new(boards.to_h { |board| [board.key, board] }, @clock)
    @store.submit_to_boards(boards.map { |board| [board, "ann", 5, :increment] }, "key", :ordinal)
    results = @redis.scan_each(match: "leaderboards:{#{@name}:*:request:*").to_a
    assert_equal [true, true], results.map { |key| @redis.ttl(key) > 30 * 86_400 }
    @store.finish
    assert_equal [true, true], results.map { |key| @redis.ttl(key).between?(1, 86_400) }
    assert_equal 0, @embedded.table("multi_board_writes").size
  ensure
    Leaderboards.service = nil
  end
end
