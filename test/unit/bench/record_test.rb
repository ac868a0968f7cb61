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
    replace({ workload: "get", rate: 1 })
    replace({ workload: "post", rate: 2 })
    replace({ workload: "get", rate: 3 }, options: { rounds: 5 })
    assert_equal [["get", 3], ["post", 2]], rates
    assert_equal({ rounds: 5 }, record.read("stats")[:options])
  end

  def test_several_results_of_one_contest_stand_where_its_last_ones_stood
    replace({ workload: "a", rate: 1 }, { workload: "a", rate: 2 })
    replace({ workload: "b", rate: 3 })
    replace({ workload: "a", rate: 4 }, { workload: "a", rate: 5 })
    assert_equal [["a", 4], ["a", 5], ["b", 3]], rates
  end

  def test_a_contest_that_is_not_run_again_keeps_its_date
    record.write("stats", { duels: [{ workload: "get", rate: 1 }], machine: { date: "then" } })
    replace({ workload: "post", rate: 2 })
    then_, now = record.read("stats")[:duels].map { |duel| duel.dig(:machine, :date) }
    assert_equal "then", then_
    assert_operator now, :>=, "2026"
  end

  def test_a_command_replaces_its_last_results
    2.times { |count| record.write("memory", { count: count }) }
    assert_equal 1, record.read("memory")[:count]
    assert_nil record.read("redis")
  end

  private

  def record = @record ||= Bench::Record.new(File.join(@parent, "record"))
  def replace(*duels, options: {}) = record.replace("stats", :duels, duels, by: :workload, options: options)
  def rates = record.read("stats")[:duels].map { |duel| duel.values_at(:workload, :rate) }
end
