# frozen_string_literal: true

require_relative "../../test_helper"
require "tmpdir"
require_relative "../../../bench/lib/summary"

class SummaryTest < Minitest::Test
  def setup
    @file = File.join(Dir.mktmpdir, "README.md")
  end

  def teardown
    FileUtils.rm_r(File.dirname(@file))
  end

  def test_the_text_between_the_markers_is_replaced
    File.write(@file, "before\n<!-- bench:begin -->\nold\n<!-- bench:end -->\nafter\n")
    2.times { Bench::Summary.splice(@file, "new \\1\n") }
    assert_equal "before\n<!-- bench:begin -->\nnew \\1\n<!-- bench:end -->\nafter\n", File.read(@file)
  end

  def test_a_file_without_markers_is_left_alone
    File.write(@file, "text\n")
    assert_raises(RuntimeError) { Bench::Summary.splice(@file, "new\n") }
    assert_equal "text\n", File.read(@file)
  end
end

class StatisticsTest < Minitest::Test
  def test_the_median_of_an_odd_and_an_even_number_of_runs
    assert_equal 2.0, Bench::Statistics.median([9, 1, 2])
    assert_equal 2.5, Bench::Statistics.median([9, 1, 2, 3])
    assert_equal({ median: 2.0, min: 1.0, max: 9.0 }, Bench::Statistics.spread([9, 1, 2]))
  end
end
