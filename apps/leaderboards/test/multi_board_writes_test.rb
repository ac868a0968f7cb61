# frozen_string_literal: true

require_relative "board_case"

# Writes to several boards that are refused, and those that a killed process has left unfinished.
class MultiBoardWritesTest < BoardCase
  def setup
    super
    @boards = Array.new(2) { create(members_max: 2) }
  end

  def durability = :disk

  def write(score, key = nil, member: "ann", operator: :set)
    @scores.submit_to_boards(@boards.map { |board| [board, member, score, operator] }, key, :ordinal)
  end

  def come_back_after(seconds)
    reopen
    @clock.now += seconds
    @store_clock.advance(seconds)
  end

  # Stops as if the process had been killed after the decision, when some boards have applied their part.
  def leave_behind(score, key, after:)
    parts = Leaderboards::Boards::MultiBoardWrites.new(@store, @scores.boards)
    calls = 0
    parts.define_singleton_method(:carry_out) do |id, all, style|
      super(id, all.first(after), style)
      raise Interrupt if (calls += 1) == 1
    end
    rows = @boards.map { |board| Leaderboards::Boards::MultiBoardWrites::Part.new(board.key, "ann", score, :increment) }
    assert_raises(Interrupt) { parts.submit(rows, key, :ordinal) }
  end

  def test_the_next_process_finishes_a_decided_write
    [0, 1, 2].each do |after|
      leave_behind(5, "k#{after}", after: after)
      reopen
      @clock.now += 10
      assert_equal 1, @scores.finish
      assert_equal 0, @scores.finish
    end
    assert_equal [[["ann", 15]]] * 2, @boards.map { |board| top(board) }
  end

  # The results that say which parts were applied were kept for a day. A service that was off for a weekend applied them
  # again.
  def test_a_write_is_finished_days_later
    leave_behind(5, "k", after: 1)
    come_back_after(3 * DAY)
    assert_equal 1, @scores.finish
    assert_equal [[["ann", 5]]] * 2, @boards.map { |board| top(board) }
  end

  def test_the_results_of_a_finished_write_are_kept_for_a_day
    write(5, "k", operator: :increment)
    @scores.finish
    come_back_after(DAY - 60)
    assert_equal true, write(5, "k", operator: :increment).last
    come_back_after(120)
    responses = @scores.boards.index(:responses)
    assert_empty responses.range
  end

  def test_a_clock_set_back_delays_no_write
    leave_behind(5, "k", after: 1)
    @clock.now -= 1000
    assert_equal 1, @scores.finish
    assert_equal [[["ann", 5]]] * 2, @boards.map { |board| top(board) }
  end

  def test_a_running_write_is_left_alone
    leave_behind(5, "k", after: 1)
    assert_equal 0, @scores.finish
    assert_equal [[["ann", 5]], []], @boards.map { |board| top(board) }
  end

  def test_a_repeated_request_finishes_its_write
    leave_behind(5, "k", after: 1)
    reopen
    answers, is_replay = write(5, "k", operator: :increment)
    assert_equal [[5, 5], true], [answers.map { |answer| JSON.parse(answer)["score"] }, is_replay]
    @clock.now += 10
    assert_equal 0, @scores.finish
    assert_equal [[["ann", 5]]] * 2, @boards.map { |board| top(board) }
  end

  def test_a_refusal_by_one_board_writes_nothing
    submit(@boards.last, "bob", 1)
    submit(@boards.last, "cid", 1)
    assert_raises(Leaderboards::BoardFull) { write(1) }
    assert_raises(Leaderboards::InvalidScore) { write("x", member: "bob") }
    assert_raises(Leaderboards::InvalidScore) { write((2**62) + 1, "k", member: "bob", operator: :increment) }
    assert_equal [[], [["bob", 1], ["cid", 1]]], @boards.map { |board| top(board) }
    assert_equal 1, write(2, member: "bob").first.size - 1
  end

  # Each part used to be checked as if it were the only one. So some of them were left out, or filled a board beyond its
  # maximum.
  def test_the_parts_for_one_board_are_checked_one_after_the_other
    board = @boards.first
    increments = Array.new(3) { [board, "ann", 2**62, :increment] }
    assert_raises(Leaderboards::InvalidScore) do
      @scores.submit_to_boards([[@boards.last, "ann", 1, :set], *increments], nil, :ordinal)
    end
    assert_raises(Leaderboards::BoardFull) do
      @scores.submit_to_boards(%w[a b c].map { |member| [board, member, 1, :set] }, nil, :ordinal)
    end
    assert_equal [[], []], @boards.map { |each| top(each) }
    submit(board, "cid", 5)
    changes = [[board, "bob", 5, :set], [board, "cid", 1, :increment], [board, "bob", -2, :increment]]
    @scores.submit_to_boards(changes, nil, :ordinal)
    assert_equal [["cid", 6], ["bob", 3]], top(board)
  end

  def test_a_deleted_board_is_skipped
    leave_behind(5, "k", after: 0)
    @service.directory.delete(@boards.last) { @scores.remove(@boards.last) }
    @clock.now += 10
    assert_equal 1, @scores.finish
    assert_equal [["ann", 5]], top(@boards.first)
  end
end

# Where responses do not wait for the disk.
class MultiBoardWritesInMemoryTest < BoardCase
  def setup
    super
    @boards = Array.new(2) { create }
  end

  def write = @scores.submit_to_boards(@boards.map { |board| [board, "ann", 5, :increment] }, nil, :ordinal)

  def finish_all
    @scores.boards.flush
    @clock.now += 10
    @scores.finish
    assert_equal 0, @store.table("multi_board_writes").size
  end

  def test_a_decision_is_deleted_when_all_parts_are_on_disk
    write
    finish_all
    assert_equal [[["ann", 5]]] * 2, @boards.map { |board| top(board) }
  end

  # Each look saw the first 1,000, also those that were under way: beyond 500 writes per second their number grew.
  def test_all_decisions_are_deleted_however_many_there_are
    1001.times { write }
    finish_all
  end
end
