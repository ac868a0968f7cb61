# frozen_string_literal: true

require_relative "board_case"
require "support/replaced_method"

# What a board stores, and what a reload and a refusal change.
class BoardTest < BoardCase
  include ReplacedMethod

  def test_a_board_is_restored_completely
    board = create
    submit(board, "ann", 5)
    submit(board, "bob", 5)
    submit(board, "cid", 5)
    @scores.ban(board, "bob")
    @scores.delete(board, "ann", false)
    @scores.submit(board, "cid", 1, nil, :ordinal, '{"a":1}')
    reopen
    assert_equal [["cid", 5]], top(board)
    assert_equal ["bob", 5], json(@scores.show(board, "bob", :ordinal)).values_at("member", "score")
    assert_includes @scores.show(board, "cid", :ordinal), '"metadata":{"a":1}'
    assert @scores.pardon(board, "bob")
    reopen
    assert_equal [["bob", 5], ["cid", 5]], top(board), "bob had the score first"
  end

  def test_an_increment_is_known_after_a_restart_for_a_day
    board = create
    first = increment(board, "ann", 5, "k")
    reopen
    assert_equal [first.first, true], increment(board, "ann", 5, "k")
    assert_raises(Leaderboards::IdempotencyMismatch) { increment(board, "ann", 6, "k") }
    assert_equal 10, increment(board, "ann", 5, "l").first["score"]
    other = create
    assert_equal 5, increment(other, "ann", 5, "k").first["score"], "a key is one board's"
  end

  # A board that had few writes a day kept all of its responses in memory, and replayed them for ever.
  def test_an_increment_is_forgotten_after_a_day
    board = create
    assert_equal [5, false], score_and_replay(increment(board, "ann", 5, "k"))
    @clock.now += DAY - 1
    assert_equal [5, true], score_and_replay(increment(board, "ann", 5, "k"))
    @clock.now += 1
    assert_equal [10, false], score_and_replay(increment(board, "ann", 5, "k"))
  end

  def test_a_refused_increment_does_not_use_its_key
    board = create
    assert_raises(Leaderboards::InvalidScore) { increment(board, "ann", 1.5, "k") }
    assert_equal [5, false], score_and_replay(increment(board, "ann", 5, "k"))
  end

  def test_a_refusal_does_not_reload_the_board
    board = create
    submit(board, "ann", 1)
    loads = 0
    original = Elah::RankedSet.method(:load)
    replacing(Elah::RankedSet, :load, ->(*args, **settings) { loads += 1 and original.call(*args, **settings) }) do
      assert_raises(Leaderboards::InvalidScore) { submit(board, "ann", "x") }
      assert_raises(Leaderboards::MemberNotFound) { @scores.show(board, "bob", :ordinal) }
      assert_raises(Leaderboards::InvalidCursor) { @scores.page(board, "abc", nil, 10, :ordinal) }
      assert_equal [["ann", 1]], top(board)
    end
    assert_equal 0, loads
  end

  def test_a_banned_member_sees_its_rank_and_moves_nobody
    board = create
    %w[ann bob cid].each_with_index { |name, n| submit(board, name, 10 * n) }
    @scores.ban(board, "bob")
    @scores.ban(board, "bob")
    assert_equal [1, 2], submit(board, "bob", 30).values_at("rank", "previous_rank")
    assert_equal [["cid", 20], ["ann", 0]], top(board)
    assert_equal 1, submit(board, "cid", 25)["rank"]
    @scores.begin_season(board)
    assert_equal 1, submit(board, "bob", 3)["rank"]
    assert_empty top(board), "a ban outlives a season"
  end

  def test_the_top_reflects_the_last_write
    board = create
    tops = lambda do
      text = @scores.top(board, 10, :ordinal)
      json(text)["members"].map { |row| row.values_at("member", "score", "metadata").compact }
    end
    steps = [-> { submit(board, "ann", 5) }, -> { submit(board, "bob", 7) },
             -> { @scores.submit(board, "bob", 1, nil, :ordinal, '{"a":1}') }, -> { @scores.ban(board, "bob") },
             -> { @scores.pardon(board, "bob") }, -> { increment(board, "ann", 3, "k") },
             -> { @scores.submit(board, "bob", 1, nil, :ordinal, "null") }, -> { @scores.trim(board, 1) },
             -> { @scores.delete(board, "ann", false) }, -> { @scores.begin_season(board) }]
    seen = steps.map do |step|
      step.call
      tops.call.tap { |first| assert_equal first, tops.call }
    end
    a = { "a" => 1 }
    assert_equal [[["ann", 5]], [["bob", 7], ["ann", 5]], [["bob", 7, a], ["ann", 5]], [["ann", 5]],
                  [["bob", 7, a], ["ann", 5]], [["ann", 8], ["bob", 7, a]], [["ann", 8], ["bob", 7]], [["ann", 8]],
                  [], []], seen
  end

  def test_a_trim_removes_the_last_members
    board = create
    2500.times { |n| submit(board, "m#{n}", n) }
    assert_equal [2490, 0], [@scores.trim(board, 10), @scores.trim(board, 10)]
    reopen
    assert_equal((2490..2499).to_a.reverse, top(board).map(&:last))
    assert_equal [10, 0], [@scores.trim(board, 0), @scores.size(board)]
  end

  def test_a_deleted_board_leaves_no_row
    board = create
    600.times { |n| submit(board, "m#{n}", n) }
    @scores.submit(board, "ann", 1, nil, :ordinal, '{"a":1}')
    increment(board, "ann", 5, "k")
    @scores.ban(board, "m1")
    @scores.begin_season(board)
    submit(board, "ann", 2)
    assert_raises(Interrupt) { @service.directory.delete(board) { raise Interrupt } }
    reopen
    assert_raises(Leaderboards::BoardNotFound) { @service.directory[board.key] }
    assert_equal [2], rows(:seasons)
    2.times { @service.directory.finish_removals { |definition| @scores.remove(definition) } }
    assert_equal [0] * 5, rows(:members, :seasons, :responses, :metadata, :bans)
    assert_raises(Leaderboards::BoardNotFound) { submit(board, "ann", 1) }
  end

  def test_a_board_behaves_like_a_simple_model
    board = create(order: "asc", operator: "best")
    model = {}
    random = Random.new(7)
    400.times do |step|
      member = "m#{random.rand(20)}"
      score = random.rand(50)
      case random.rand(10)
      when 0 then @scores.delete(board, member, false) == !model.delete(member).nil? || flunk
      when 1 then submit(board, member, score, :set) && model[member] != score && model[member] = score
      when 2 then increment(board, member, score, "k#{step}") && model[member] = model.fetch(member, 0) + score
      else
        submit(board, member, score)
        model[member] = score if !model[member] || score < model[member]
      end
      reopen if step % 97 == 96
      assert_equal model.values.sort, top(board).map(&:last)
    end
    assert_equal model, top(board).to_h
  end
end
