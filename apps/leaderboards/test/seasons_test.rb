# frozen_string_literal: true

require_relative "board_case"

# Seasons while the clock advances, jumps and goes back.
class SeasonsTest < BoardCase
  def test_a_write_at_the_end_of_a_season_is_in_exactly_one
    board = create(season: "day", zone: "Europe/Berlin")
    @clock.now = Time.utc(2026, 3, 28, 22, 59, 59).to_i
    submit(board, "ann", 1)
    @clock.now += 1
    submit(board, "bob", 2)
    assert_equal [[["ann", 1]], [["bob", 2]]], [top(board, 1), top(board, 2)]
    assert_equal [["bob", 2]], top(board)
    ended = @scores.seasons(board, 9).last
    assert_equal [Time.utc(2026, 3, 27, 23), Time.utc(2026, 3, 28, 23), Time.utc(2026, 3, 28, 23)], [ended.begins_at, ended.ends_at, ended.ended_at].map { |at| Time.at(at).utc }
  end

  def test_a_read_can_end_a_season
    board = create(season: "hour")
    submit(board, "ann", 1)
    @clock.now += HOUR
    assert_empty top(board)
    reopen
    assert_equal [[], [["ann", 1]]], [top(board), top(board, 1)]
  end

  def test_a_clock_that_goes_back_stays_in_the_season
    board = create(season: "hour")
    submit(board, "ann", 1)
    @clock.now += HOUR
    submit(board, "bob", 2)
    @clock.now -= 2 * HOUR
    assert_equal 2, submit(board, "ann", 1)["rank"]
    reopen
    assert_equal [["bob", 2], ["ann", 1]], top(board)
    @clock.now += (2 * HOUR) + 1
    assert_equal [["bob", 2], ["ann", 1]], top(board), "it is still its hour"
    assert_equal 3, @scores.begin_season(board)
    assert_equal [[["bob", 2], ["ann", 1]], []], [top(board, 2), top(board)]
  end

  def test_a_season_begun_by_a_wrong_clock_is_ended_by_request
    board = create(season: "day")
    submit(board, "ann", 1)
    @clock.now += 1000 * DAY
    top(board)
    @clock.now -= 1000 * DAY
    @scores.begin_season(board)
    submit(board, "bob", 2)
    @clock.now += DAY
    assert_equal [[], [["bob", 2]]], [top(board), top(board, 3)]
  end

  def test_time_without_calls_makes_no_seasons
    board = create(season: "day")
    submit(board, "ann", 1)
    @clock.now += 40 * DAY
    submit(board, "ann", 2)
    assert_equal [2, 1], @scores.seasons(board, 9).map(&:number)
  end

  def test_a_refusal_at_the_end_of_a_season_still_ends_it
    board = create(season: "day")
    submit(board, "ann", 1)
    @clock.now += DAY
    assert_raises(Leaderboards::MemberNotFound) { @scores.show(board, "ann", :ordinal) }
    assert_raises(Leaderboards::InvalidScore) { submit(board, "ann", "NaN") }
    submit(board, "bob", 2)
    assert_equal [[["bob", 2]], [["ann", 1]]], [top(board), top(board, 1)]
  end

  def test_old_seasons_are_deleted_with_all_rows
    board = create(season: "day", seasons_kept: 1)
    450.times { |n| submit(board, "m#{n}", n) }
    @clock.now += DAY
    submit(board, "ann", 1)
    @clock.now += DAY
    8.times { submit(board, "bob", 1) && @scores.boards.flush }
    assert_equal [3, 2], @scores.seasons(board, 9).map(&:number)
    assert_equal [2], rows(:members)
    assert_raises(Leaderboards::SeasonNotFound) { top(board, 1) }
    assert_equal [["ann", 1]], top(board, 2)
  end
end
