# frozen_string_literal: true

require "test_helper"
require "support/leaderboards_server"
require "support/listener"
require "support/patience"
require "support/servers"

# The leaderboards on two servers with one PostgreSQL: both rank the same members, also when one is killed.
class LeaderboardsClusterTest < Minitest::Test
  include Patience

  OPTIONS = { lease_seconds: 2.5, shards: 16, entity_moving_seconds: 30, request_seconds: 60 }.freeze

  def setup
    @database = Servers::PostgreSQL.start
    @servers = Array.new(2) { LeaderboardsServer.new({}, { cluster: @database.url, **OPTIONS }) }
  end

  def teardown
    @servers.each(&:remove)
    @database.remove
  end

  def test_two_servers_rank_the_same_members_and_one_goes_on_alone
    boards = Array.new(3) { |number| @servers[number % 2].create }
    boards.each do |board|
      20.times { |number| assert_equal 200, submit(@servers[number % 2], board, "member#{number}", number) }
    end
    expected = Array.new(20) { |number| ["member#{19 - number}", 19 - number] }
    boards.each { |board| @servers.each { |server| assert_equal expected, server.top(board) } }
    @servers[0].kill
    boards.each do |board|
      wait_until("the board has an owner") { @servers[1].get("#{board}/top?limit=1").status == 200 }
      assert_equal 200, submit(@servers[1], board, "late", 100)
      assert_equal [["late", 100], *expected], @servers[1].top(board)
    end
  end

  # A feed polls its board, wherever that is.
  def test_a_feed_has_the_changes_that_the_other_server_makes
    boards = Array.new(3) { |number| @servers[number % 2].create }
    boards.product(@servers.zip(@servers.reverse)).each do |board, (listening, writing)|
      listener = Listener.new(listening.process, "#{board}/feed")
      listener.read_until("event: reset")
      assert_equal 200, submit(writing, board, "ann", 7)
      assert_equal 200, submit(writing, board, "bob", rand(100))
      listener.read_until('"member":"bob"')
      assert_equal %w[ann bob], listener.text.scan(/^event: rank\ndata: .*"member":"(\w+)"/).flatten
      @servers.each { |server| %w[ann bob].each { |member| server.delete("#{board}/members/#{member}") } }
    end
  end

  private

  def submit(server, board, member, score) = server.submit(board, member, score).status
end
