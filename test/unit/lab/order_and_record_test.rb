# frozen_string_literal: true

require "test_helper"
require_relative "../../support/lab_case"

class LabOrderAndRecordTest < Minitest::Test
  include LabCase

  def test_contenders_take_turns_and_every_other_round_goes_backwards
    assert_equal [["a", 1], ["b", 1], ["b", 2], ["a", 2], ["a", 3], ["b", 3]], Lab::RunOrder.new(%w[a b], 3).to_a
  end

  def test_a_record_keeps_every_run_at_once_and_forgives_a_line_that_was_cut_off
    record = Lab::Record.create({ plan: { name: "tiny" } }, parent: @folder, now: Time.utc(2026, 1, 2, 3, 4, 5))
    assert_equal File.join(@folder, "2026-01-02-030405-tiny"), record.folder
    record.append({ contender: "a", rate: 1.5 })
    assert_equal [{ contender: "a", rate: 1.5 }], Lab::Record.new(record.folder).runs
    File.write(record.file("runs.ndjson"), '{"contender":"b","ra', mode: "a")
    assert_equal 1, record.runs.size
  end

  def test_the_newest_record_is_found
    older, newer = [1, 2].map { |day| Lab::Record.create({ plan: { name: "full" } }, parent: @folder, now: Time.utc(2026, 1, day)) }
    assert_equal newer.folder, Lab::Record.newest(@folder).folder
    refute_equal older.folder, newer.folder
    assert_raises(Lab::Error) { Lab::Record.newest(File.join(@folder, "none")) }
    assert_raises(Lab::Error) { Lab::Record.new(File.join(@folder, "none")) }
  end

  def test_one_core_and_no_taskset_are_said
    assert_empty Lab::Cores.new(count: 2, taskset: true, guard: true).notices
    one = Lab::Cores.new(count: 1, taskset: true, guard: false)
    assert_match(/one core only/, one.notices.join)
    assert_empty one.server, "nothing is bound where there is nothing to choose"
    assert_match(/no taskset/, Lab::Cores.new(count: 4, taskset: false, guard: false).notices.join)
    assert_equal %w[setpriv --pdeathsig KILL taskset -c 0], Lab::Cores.new(count: 2, taskset: true, guard: true).server
  end

  def test_growth_of_memory_is_told_from_its_first_third_on
    assert_equal({ growth: 1.0, leaks: false }, Lab::Soak.growth([30e6, 60e6, 60e6, 60e6, 60e6, 60e6]))
    assert_equal true, Lab::Soak.growth([30e6, 40e6, 50e6, 60e6, 70e6, 80e6])[:leaks]
    assert_equal false, Lab::Soak.growth([1e6, 1e6, 1e6, 2e6])[:leaks], "a megabyte is no leak"
    assert_equal({ growth: nil, leaks: false }, Lab::Soak.growth([]))
  end
end
