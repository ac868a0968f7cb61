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

  def test_a_store_that_another_server_stands_in_for_is_named_once
    mongo = { store: "mongodb", **workload }
    assert_equal 1, legend([mongo, mongo, { store: "redis", **workload }]).size
    assert_match(/mongo-java-server/, legend([mongo]).first)
  end

  def test_notices_come_last
    shown = workload(marks: [["generator"]])
    assert_equal ["One core only.\n", "No taskset.\n"], legend([shown], ["One core only.", "No taskset."]).drop(1)
  end

  private

  def workload(marks: [[]]) = { rows: marks.map { |one| { marks: one } } }
  def legend(workloads, notices = []) = Lab::Legend.new(workloads, notices).to_a
end
