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
    assert_equal [Time.utc(2026, 3, 27, 23), Time.utc(2026, 3, 28, 23), Time.utc(2026, 3, 28, 23)],
                 [ended.begins_at, ended.ends_at, ended.ended_at].map { |at| Time.at(at).utc }
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

  # What followed was of the next season, or nothing, in a response that was complete.
  def test_an_export_stays_in_the_season_in_which_it_began
    board = create(season: "hour")
    names = Array.new(600) { |n| "m#{n}" }
    names.each { |name| submit(board, name, 1) }
    lines = []
    export(board).each do |piece|
      lines.concat(piece.lines)
      @clock.now += HOUR
      submit(board, "late", 0)
    end
    assert_equal names, lines.map { |line| json(line)["member"] }
  end

  # The season that ended between two looks at it was not found.
  def test_a_season_that_ends_within_a_batch_of_an_export_is_whole
    6.times do |moment|
      board = create(season: "hour", name: "Points #{moment}")
      submit(board, "ann", 1)
      asked = 0
      @clock.define_singleton_method(:now) { super() + ((asked += 1) > moment ? HOUR : 0) }
      lines, after, season = @scores.export(board, nil, 9, 1)
      @clock.singleton_class.remove_method(:now)
      assert_equal ["ann", nil, 1], [json(lines)["member"], after, season], moment
    end
  end

  # A ban moves a member out of the current season only, but after a restart an ended one looked for it among the
  # banned.
  def test_a_ban_leaves_ended_seasons_as_they_are
    board = create
    submit(board, "eve", 7)
    @scores.begin_season(board)
    texts = -> { [@scores.show(board, "eve", :ordinal, 1), @scores.percentile(board, "eve", 1)] }
    seen = -> { [top(board, 1), *texts.call.map { |text| json(text) }] }
    before = seen.call
    @scores.ban(board, "eve")
    assert_equal before, seen.call
    reopen
    assert_equal before, seen.call
  end

  # Only members who are banned today were looked for among the hidden ones of an ended season.
  def test_an_ended_season_hides_who_was_banned_at_its_end
    board = create
    { "eve" => 7, "bob" => 3 }.each { |member, score| submit(board, member, score) }
    @scores.ban(board, "eve")
    @scores.begin_season(board)
    seen = -> { [top(board, 1), json(@scores.show(board, "eve", :ordinal, 1)).values_at("rank", "score")] }
    assert_equal [[["bob", 3]], [1, 7]], seen.call
    @scores.pardon(board, "eve")
    assert_equal [[["bob", 3]], [1, 7]], seen.call
    reopen
    assert_equal [[["bob", 3]], [1, 7]], seen.call
  end

  # The row of a member who was banned then and is not banned now stayed, and a later ban showed it again.
  def test_an_erasure_reaches_seasons_in_which_the_member_was_banned
    board = create
    submit(board, "eve", 7)
    @scores.ban(board, "eve")
    @scores.begin_season(board)
    @scores.pardon(board, "eve")
    reopen
    assert @scores.delete(board, "eve", true)
    assert_equal [0], rows(:members)
    @scores.ban(board, "eve")
    reopen
    assert_raises(Leaderboards::MemberNotFound) { @scores.show(board, "eve", :ordinal, 1) }
  end

  # A season that is no longer kept could be read as long as it was in memory, or until somebody submitted a score.
  def test_a_season_that_is_not_kept_is_gone_at_once
    board = create(seasons_kept: 1)
    submit(board, "ann", 1)
    @scores.begin_season(board)
    assert_equal [["ann", 1]], top(board, 1)
    2.times { @scores.begin_season(board) && @scores.boards.flush }
    assert_raises(Leaderboards::SeasonNotFound) { top(board, 1) }
    assert_equal [4, 3], @scores.seasons(board, 9).map(&:number)
    @scores.delete(board, "ann", true)
    assert_equal [0], rows(:members), "an erasure reaches what is not deleted yet"
    4.times { submit(board, "bob", 1) && @scores.boards.flush }
    assert_raises(Leaderboards::SeasonNotFound) { top(board, 1) }
  end

  def test_a_board_that_keeps_no_ended_season_shows_none
    board = create(seasons_kept: 0)
    submit(board, "ann", 1)
    @scores.begin_season(board)
    @scores.boards.flush
    assert_raises(Leaderboards::SeasonNotFound) { top(board, 1) }
    assert_equal [2], @scores.seasons(board, 9).map(&:number)
    reopen
    assert_raises(Leaderboards::SeasonNotFound) { top(board, 1) }
    assert_equal [2], @scores.seasons(board, 9).map(&:number)
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

  private

  # @return [#each] the body of the response
  def export(board)
    path = "/leaderboards/#{board.id}/export"
    env = { "REQUEST_METHOD" => "GET", "PATH_INFO" => path, "QUERY_STRING" => "", "rack.url_scheme" => "http" }
    Leaderboards::API.call(env).last
  end
end
