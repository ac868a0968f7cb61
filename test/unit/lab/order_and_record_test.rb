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

  def test_rounds_that_all_had_are_kept_and_one_that_was_cut_off_is_not
    failed = { failure: { step: "start", message: "no" } }
    runs = [{ ceiling: true }, { contender: "a", round: 1 }, { contender: "b", round: 1 },
            { contender: "c", round: 1, **failed }, { contender: "b", round: 2 }, { contender: "a", round: 2 },
            { contender: "a", round: 3 }]
    runs = runs.map { |run| { workload: "hello", saturated: [{ rate: 2.0 }, { rate: 1.0 }], **run } }
    earlier = Lab::EarlierRuns.new([*runs, { workload: "json", contender: "b", round: 3 }], "hello", %w[a b c], 5)
    assert_equal 2, earlier.whole_rounds
    assert_equal runs[...-1], earlier.kept
    assert_equal ["c"], earlier.hopeless
    assert_equal 1, earlier.ceilings
    assert_equal [2.0, 2.0], earlier.rates["a"]
    assert_equal [["b", 2], ["a", 2], ["a", 3], ["b", 3]], Lab::RunOrder.new(%w[a b], 3, done: 1).to_a
  end

  def test_a_workload_in_which_nobody_can_be_measured_is_done
    runs = [{ workload: "hello", contender: "a", round: 1, saturated: [], failure: { step: "contract" } }]
    assert_equal 5, Lab::EarlierRuns.new(runs, "hello", ["a"], 5).whole_rounds
    assert_equal 0, Lab::EarlierRuns.new(runs, "hello", %w[a b], 5).whole_rounds
    assert_empty Lab::EarlierRuns.new(runs, "hello", %w[a b], 5).hopeless, "what is measured again may be better"
  end

  def test_the_newest_record_is_found
    older, newer = [1, 2].map do |day|
      Lab::Record.create({ plan: { name: "full" } }, parent: @folder, now: Time.utc(2026, 1, day))
    end
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
