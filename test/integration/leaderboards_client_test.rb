# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/cutting_proxy"
require_relative "../support/leaderboards_server"
require_relative "../../apps/leaderboards/client"

# The Ruby client with the method names of the gem "leaderboard", against the app itself.
class LeaderboardsClientTest < Minitest::Test
  def self.server
    @server ||= LeaderboardsServer.new({ leaderboards_api_key: "secret" }, {}).tap do |server|
      Minitest.after_run { server.process.stop && server.remove }
      server.post("/games", { name: "game" }, headers: { "X-Api-Key" => "secret" })
    end
  end

  def setup
    @board = client("board #{Random.urandom(6).unpack1('H*')}")
  end

  def teardown = @board.disconnect

  def client(name, url: self.class.server.process.http_url, **options)
    Leaderboards::Client.new(name, url: url, api_key: "secret", **options)
  end

  def fill(board = @board, count = 60) = board.rank_members((1..count).map { |n| ["member #{n}", n] })

  def test_members_are_ranked_changed_and_removed
    assert_equal({ member: "ann", score: 10, rank: 1 }, @board.rank_member("ann", 10))
    @board.rank_member("bob", 20, { "team" => "red" })
    assert_equal [1, 20, true, false], [@board.rank_for("bob"), @board.score_for("bob"),
                                        @board.check_member?("bob"), @board.check_member?("cid")]
    assert_equal({ member: "ann", score: 25, rank: 1 }, @board.change_score_for("ann", 15))
    assert_equal({ member: "cid", score: nil, rank: nil }, @board.score_and_rank_for("cid"))
    is_higher = ->(_, current, score, *) { score > current }
    assert_equal [nil, 25], [@board.rank_member_if(is_higher, "ann", 7), @board.score_for("ann")]
    assert_equal [{ "team" => "red" }, nil], @board.members_data_for(%w[bob ann])
    @board.update_member_data("ann", { "team" => "blue" })
    @board.remove_member_data("bob")
    assert_equal [nil, { "team" => "blue" }, 20],
                 [@board.member_data_for("bob"), @board.member_data_for("ann"), @board.score_for("bob")]
    assert_equal [true, false, 1], [@board.remove_member("bob"), @board.remove_member("bob"), @board.total_members]
  end

  # The data was stored with the score that had been read before, and undid what others had done meanwhile.
  def test_data_is_stored_without_a_score
    @board.rank_member("ann", 1000)
    threads = Array.new(3) do |thread|
      Thread.new do
        board = client(@board.leaderboard_name)
        50.times { |n| board.change_score_for("ann", -1, { "n" => (n * 10) + thread }) }
      ensure
        board.disconnect
      end
    end
    threads.each(&:join)
    assert_equal 850, @board.score_for("ann")
    assert_includes [490, 491, 492], @board.member_data_for("ann")["n"]
  end

  def test_data_goes_to_the_board_of_the_score_and_to_nobody_who_is_not_there
    @board.rank_member("ann", 5, { "team" => "red" })
    other = "other #{@board.leaderboard_name}"
    @board.change_score_for_member_in(other, "ann", 7, { "team" => "blue" })
    assert_equal({ "team" => "red" }, @board.member_data_for("ann"))
    assert_equal({ "team" => "blue" }, client(other).member_data_for("ann"))
    assert_equal({ member: "ann", score: 5, rank: 1 }, @board.update_member_data("ann", { "team" => "green" }))
    @board.remove_member("ann")
    assert_nil @board.update_member_data("ann", { "team" => "blue" })
    assert_nil @board.remove_member_data("ann")
    assert_equal 0, @board.total_members
  end

  def test_pages_ranges_and_neighbours
    fill
    assert_equal [60, 3, 6], [@board.total_members, @board.total_pages, @board.total_pages(10)]
    assert_equal [[60, 36], [35, 11], [10, 1], []],
                 (1..4).map { |page| @board.leaders(page).map { |row| row[:score] }.values_at(0, -1).compact }
    assert_equal ["member 60", "member 59"], @board.top(2).map { |row| row[:member] }
    assert_equal [60, (1..60).to_a], [@board.all_leaders.size, @board.all_members.map { |row| row[:rank] }]
    assert_equal [{ member: "member 58" }], @board.members_from_rank_range(3, 3, members_only: true)
    assert_equal [[12, 11, 10], 3], [@board.members_from_score_range(10, 12).map { |row| row[:score] },
                                     @board.total_members_in_score_range(10, 12)]
    assert_equal [{ member: "member 50", score: 50, rank: 11 }, nil, nil],
                 [@board.member_at(11), @board.member_at(61), @board.member_at(0)]
    assert_equal [12, 11, 10, 9, 8], @board.around_me("member 51", page_size: 4).map { |row| row[:rank] }.reverse
    assert_empty @board.around_me("nobody")
    assert_equal [2, nil], [@board.page_for("member 35"), @board.page_for("nobody")]
  end

  def test_lists_percentiles_and_bulk_removal
    fill
    assert_equal [5, nil, 60], @board.ranked_in_list(["member 5", "nobody", "member 60"]).map { |row| row[:score] }
    assert_equal [60, 5], @board.ranked_in_list(["member 5", "member 60"], sort_by: :rank).map { |row| row[:score] }
    assert_equal [5, 60], @board.ranked_in_list(["member 60", "member 5"], sort_by: :score).map { |row| row[:score] }
    assert_equal [100.0, 50.0, nil, 30],
                 [@board.percentile_for("member 60"), @board.percentile_for("member 30"),
                  @board.percentile_for("nobody"), @board.score_for_percentile(50)]
    assert_equal [5, 55], [@board.remove_members_in_score_range(1, 5), @board.total_members]
    assert_equal [45, 10], [@board.remove_members_outside_rank(10), @board.total_members]
  end

  def test_other_boards_styles_and_orders
    other = "other #{@board.leaderboard_name}"
    @board.rank_member_across([@board.leaderboard_name, other], "ann", 5)
    @board.change_score_for_member_in(other, "ann", 2)
    assert_equal [5, 7], [@board.score_for("ann"), client(other).score_for("ann")]
    dense = client(other, ranks: :dense)
    dense.rank_members("bob", 7, "cid", 1)
    assert_equal [1, 1, 2], %w[ann bob cid].map { |member| dense.rank_for(member) }
    laps = client("laps #{other}", reverse: true)
    laps.rank_members("ann", 70, "bob", 60)
    assert_equal %w[bob ann], laps.top(9).map { |row| row[:member] }
    laps.delete_leaderboard
    assert_equal 0, laps.total_members, "one that is not there is made"
  end

  # The server has counted, and the answer is lost on its way.
  def test_an_increment_whose_answer_is_lost_counts_once
    @board.rank_member("ann", 1)
    CuttingProxy.start(URI(self.class.server.process.http_url).port) do |proxy|
      through = client(@board.leaderboard_name, url: "http://127.0.0.1:#{proxy.port}")
      through.rank_for("ann")
      losses = [0, 0]
      proxy.define_singleton_method(:bytes_max) { losses.shift }
      through.disconnect
      assert_equal 11, through.change_score_for("ann", 10)[:score]
      assert_empty losses
      assert_equal 11, @board.score_for("ann")
    end
  end

  def test_errors_have_a_code
    error = assert_raises(Leaderboards::Client::Error) { @board.rank_member("ann", 2**63) }
    assert_equal [422, "invalid_score"], [error.status, error.code]
    stranger = Leaderboards::Client.new("x", url: self.class.server.process.http_url)
    assert_equal 401, assert_raises(Leaderboards::Client::Error) { stranger.top(1) }.status
    assert_raises(Leaderboards::Client::Unreachable) { client("x", url: "http://127.0.0.1:9").top(1) }
  end
end
