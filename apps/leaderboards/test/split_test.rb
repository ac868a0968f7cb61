# frozen_string_literal: true

require_relative "board_case"

# A board in parts returns what one in one part returns.
class SplitTest < BoardCase
  def durability = :memory

  def in_loop
    Elah.run { yield }
  end

  def setup
    super
    @whole = create(ties: "member")
    @split = create(parts: 5)
  end

  def rows(text) = json(text)["members"].map { |row| row.values_at("rank", "member", "score") }

  def fill(count, scores)
    random = Random.new(3)
    count.times do |n|
      score = (n * 7 + random.seed) % scores
      [@whole, @split].each { |board| @scores.submit(board, "m#{n}", score, :set, :ordinal) }
    end
  end

  # Every part used to take as many members as the whole board may have.
  def test_the_parts_share_the_maximum_of_members
    in_loop do
      small = create(parts: 4, members_max: 10)
      refused = 60.times.count do |n|
        @scores.submit(small, "m#{n}", n, :set, :ordinal)
        false
      rescue Leaderboards::BoardFull
        true
      end
      assert_equal [4 * 3, 60 - (4 * 3)], [@scores.size(small), refused]
    end
  end

  def test_ranks_in_every_style_that_parts_can
    in_loop do
      fill(60, 9)
      %i[ordinal competition modified fractional].each do |style|
        60.times do |n|
          whole, split = [@whole, @split].map { |board| json(@scores.show(board, "m#{n}", style)) }
          assert_equal whole, split.except("as_of"), "#{style} m#{n}"
        end
      end
      assert_raises(Leaderboards::NotInParts) { @scores.show(@split, "m1", :dense) }
      assert_raises(Leaderboards::MemberNotFound) { @scores.show(@split, "nobody", :ordinal) }
    end
  end

  def test_metadata_changes_without_a_score
    in_loop do
      fill(9, 9)
      whole, split = [@whole, @split].map do |board|
        assert_raises(Leaderboards::MemberNotFound) { @scores.put_metadata(board, "nobody", "{}", :ordinal) }
        json(@scores.put_metadata(board, "m3", '{"a":1}', :ordinal))
      end
      assert_equal({ "a" => 1 }, whole["metadata"])
      assert_equal whole, split.except("as_of")
      assert_raises(Leaderboards::NotInParts) { @scores.put_metadata(@split, "m3", "{}", :dense) }
    end
  end

  def test_lists
    in_loop do
      fill(60, 9)
      %i[ordinal competition].each do |style|
        assert_equal(*[@whole, @split].map { |board| rows(@scores.top(board, 25, style)) })
      end
      assert_equal(*[@whole, @split].map { |board| rows(@scores.ranks(board, 11, 30, :ordinal)) })
      60.times do |n|
        assert_equal(*[@whole, @split].map { |board| rows(@scores.around(board, "m#{n}", 4, :ordinal)) }, "m#{n}")
        assert_equal(*[@whole, @split].map { |board| json(@scores.percentile(board, "m#{n}")) })
      end
      assert_equal [60, 60], [@whole, @split].map { |board| @scores.size(board) }
      assert_raises(Leaderboards::NotInParts) { @scores.ranks(@split, 1000, 1001, :ordinal) }
    end
  end

  def test_pages_show_each_member_once
    in_loop do
      fill(53, 5)
      found = []
      after = nil
      loop do
        page = json(@scores.page(@split, after, nil, 10, :ordinal))
        found.concat(page["members"].map { |row| row.values_at("rank", "member", "score") })
        after = page["after"]&.delete_prefix("1.") or break
      end
      assert_equal rows(@scores.top(@whole, 100, :ordinal)), found
    end
  end

  def test_writes
    in_loop do
      fill(20, 9)
      answer = json(@scores.submit(@split, "m3", 100, nil, :ordinal))
      assert_equal [1, 100, true], answer.values_at("rank", "score", "changed")
      assert_equal 105, json(@scores.increment(@split, "m3", 5, "k", :ordinal).first)["score"]
      text, is_replay = @scores.increment(@split, "m3", 5, "k", :ordinal)
      assert_equal [105, true], [json(text)["score"], is_replay]
      assert_equal [[1, "invalid_score"]], @scores.import(@split, [["a", 5, nil], ["b", "x", nil], ["c", 7, nil]], :set)
      assert @scores.delete(@split, "m3", false)
      assert_equal 21, @scores.size(@split)
      @scores.remove(@split)
      assert_raises(Leaderboards::NotInParts) { @scores.trim(@split, 1) }
    end
  end

  def test_a_write_with_an_unknown_rank_gets_a_response
    in_loop do
      scores = Leaderboards::Stores::Embedded.new(@store, durability: :memory, deadline: 0)
      assert_equal [nil, 5], json(scores.submit(@split, "ann", 5, nil, :ordinal)).values_at("rank", "score")
      assert_raises(Leaderboards::PartUnavailable) { scores.top(@split, 10, :ordinal) }
    end
  end

  def test_an_estimate_holds_its_bound
    order = Leaderboards::Boards::Estimate::Order.new([:desc])
    random = Random.new(5)
    [0, 1, 2, 63, 64, 65, 1000].each do |size|
      scores = Array.new(size) { random.rand(300) }.sort
      set = Elah::RankedSet.new
      scores.each_with_index { |score, n| set.submit("m#{n}", score) }
      steps = (0..64).map { |step| set.score_at_percentile(Rational(100 * step, 64)) }.compact
      summary = Leaderboards::Boards::Part::Summary.new(size, steps, 0)
      (-1..301).step(7) do |score|
        low, high = order.bounds(summary, score)
        better = scores.count { |other| other > score }
        not_worse = scores.count { |other| other >= score }
        assert low <= better && not_worse <= high, "#{size} #{score}: #{low}..#{high}, and #{better} to #{not_worse}"
        assert_operator high - low, :<=, (2 * size / 64) + 2 + (not_worse - better)
      end
    end
  end
end
