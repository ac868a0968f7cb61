# frozen_string_literal: true

require "test_helper"
require_relative "../../../lab/lib/legend"

class LabLegendTest < Minitest::Test
  def test_what_no_table_shows_is_not_explained
    assert_equal [], legend([workload, workload])
    assert_equal [], legend([])
  end

  def test_a_mark_in_any_row_is_explained_once
    marked = workload(marks: [[], ["ceiling"]])
    assert_equal 1, legend([workload, marked, marked]).size
    assert_match(/\A\* The generator.* may do more\.\n\z/, legend([marked]).first)
  end

  def test_what_was_published_is_explained_where_a_workload_has_it
    text = legend([workload, workload(originals: [{ what: "Cramp", figure: 100 }])])
    assert_equal 1, text.size
    assert_match(/\A÷ then: .*2011 and 2015/, text.first)
  end

  def test_what_was_published_is_not_explained_to_tables_without_its_column
    published = workload(originals: [{ what: "Cramp", figure: 100 }])
    assert_equal [], Lab::Legend.new([workload, published], [], compared: [workload]).to_a
  end

  def test_notices_come_last
    shown = workload(marks: [["generator"]], originals: [{ what: "Cramp", figure: 100 }])
    assert_equal ["One core only.\n", "No taskset.\n"], legend([shown], ["One core only.", "No taskset."]).drop(2)
  end

  private

  def workload(marks: [[]], originals: []) = { rows: marks.map { |one| { marks: one } }, originals: originals }
  def legend(workloads, notices = []) = Lab::Legend.new(workloads, notices).to_a
end
