# frozen_string_literal: true

require_relative "redis_store_cases"

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
end
