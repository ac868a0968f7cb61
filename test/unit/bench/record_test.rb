# frozen_string_literal: true

require_relative "../../test_helper"
require "tmpdir"
require_relative "../../../bench/lib/record"

class RecordTest < Minitest::Test
  def setup
    @parent = Dir.mktmpdir
  end

  def teardown
    FileUtils.rm_r(@parent)
  end

  def test_a_contest_is_recorded_when_it_is_done_and_the_others_stay
    record = day("2026-11-20")
    replace(record, { workload: "get", rate: 1 })
    replace(record, { workload: "post", rate: 2 })
    replace(record, { workload: "get", rate: 3 }, options: { rounds: 5 })
    assert_equal [["get", 3], ["post", 2]], rates(record)
    assert_equal({ rounds: 5 }, record.read("stats")[:options])
  end

  def test_several_results_of_one_contest_stand_where_its_last_ones_stood
    record = day("2026-11-20")
    replace(record, { workload: "a", rate: 1 }, { workload: "a", rate: 2 })
    replace(record, { workload: "b", rate: 3 })
    replace(record, { workload: "a", rate: 4 }, { workload: "a", rate: 5 })
    assert_equal [["a", 4], ["a", 5], ["b", 3]], rates(record)
  end

  def test_what_was_recorded_on_an_earlier_day_stays_with_that_days_facts
    day("2026-11-20").write("stats", { duels: [{ workload: "get", rate: 1 }], machine: { date: "then" } })
    replace(day("2026-11-21"), { workload: "post", rate: 2 })
    then_, now = day("2026-11-21").read("stats")[:duels].map { |duel| duel.dig(:machine, :date) }
    assert_equal "then", then_
    assert_operator now, :>=, "2026"
    assert_equal [["get", 1]], rates(day("2026-11-20"))
  end

  private

  def day(date) = Bench::Record.new(date, parent: @parent)
  def replace(record, *duels, options: {}) = record.replace("stats", :duels, duels, by: :workload, options: options)
  def rates(record) = record.read("stats")[:duels].map { |duel| duel.values_at(:workload, :rate) }
end
