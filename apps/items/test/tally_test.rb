# frozen_string_literal: true

require_relative "uniformity_checks"

# What /items/uniformity reports for known draws.
class ItemsTallyTest < Minitest::Test
  def setup
    @tally = Items::Uniformity::Tally.new
  end

  def test_few_draws_have_no_verdict
    319.times { |index| @tally.add(index % 64, 64) }
    assert_equal [319, "too_few_draws", nil], @tally.report.values_at(:draws, :verdict, :p_value)
    @tally.add(0, 64)
    assert_equal "consistent", @tally.report[:verdict]
  end

  def test_small_sets_are_left_out
    @tally.add(62, 63)
    assert_equal 0, @tally.report[:draws]
  end

  # Every position once is no deviation at all, although the cells differ in size and the number of items changes.
  def test_expected_draws_are_exact_while_items_come_and_go
    [1000, 77, 64, 1000, 129].each { |count| count.times { |position| @tally.add(position, count) } }
    report = @tally.report
    assert_equal [2270, 0.0, 1.0, "consistent"], report.values_at(:draws, :chi_square, :p_value, :verdict)
  end

  # The sums were fractions whose denominators grew with each number of items: after 100,000 inserts between draws a
  # report took 8 s, and a draw 40 ms or more.
  def test_the_sums_stay_small_while_items_come_and_go
    (1000..3000).each { |count| @tally.add(count / 2, count) }
    assert_operator Marshal.dump(@tally).bytesize, :<, 4096
  end

  def test_fair_draws_are_consistent_and_a_bias_of_the_size_that_it_names_is_suspicious
    fair = Random.new(3)
    100_000.times { @tally.add(fair.rand(1000), 1000) }
    report = @tally.report
    assert_equal "consistent", report[:verdict]
    assert_in_delta 0.0295, report[:detectable_bias], 0.0001

    biased = Items::Uniformity::Tally.new
    100_000.times do
      position = fair.rand(1000)
      position = fair.rand(500) if position >= 500 && fair.rand < 0.05
      biased.add(position, 1000)
    end
    assert_equal "suspicious", biased.report[:verdict]
  end
end
