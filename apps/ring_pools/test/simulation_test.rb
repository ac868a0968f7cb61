# frozen_string_literal: true

require_relative "../../../test/test_helper"
require "open3"
require "stringio"
require "tmpdir"
require_relative "../simulation/command"

# The simulator: what it reads, that the pools of the app behave as Erlang says, and the command.
class SimulationTest < Minitest::Test
  Simulation = RingPools::Simulation
  DEFAULTS = { "numbers" => 10, "lifetime_seconds" => 360.0, "quarantine_seconds" => 0.0,
               "policy" => "longest_idle" }.freeze
  FOLDER = File.expand_path("..", __dir__)

  def read(text) = Simulation::Traffic.read(text.lines, Random.new(1))

  # 400 hours at 10 erlangs on 10 numbers: 21.458 % by Erlang's B, the same arrivals each time.
  def test_the_pool_of_the_app_overflows_as_erlang_says
    RingPools::Definition::POLICIES.each do |policy|
      text = "pool,hour,per_hour\n#{Array.new(400) { |hour| "a,#{hour},100\n" }.join}"
      outcome = Simulation::Run.new(read(text).first, DEFAULTS.merge("policy" => policy)).outcome
      assert_in_delta RingPools::Forecast.overflow_share(10, 10), outcome.share, 0.012, policy
      assert_in_delta outcome.forecast, outcome.share, 0.012, policy
    end
  end

  def test_a_quarantine_counts_as_held
    text = "pool,hour,per_hour\n#{Array.new(400) { |hour| "a,#{hour},100\n" }.join}"
    settings = DEFAULTS.merge("lifetime_seconds" => 300.0, "quarantine_seconds" => 60.0)
    outcome = Simulation::Run.new(read(text).first, settings).outcome
    assert_in_delta RingPools::Forecast.overflow_share(10, 10), outcome.share, 0.012
  end

  def test_times_are_read_in_both_forms
    pools = read("# visitors\npool,time,numbers\na,2030-01-01T00:00:10Z,3\na,2030-01-01T01:00:40Z,\n")
    assert_equal [["a", { "numbers" => 3 }, [0.0, 3630.0]]], pools.map(&:to_a)
    assert_equal [0.5, 2.0], read("pool,time\nb,2\nb,0.5\n").first.arrivals
  end

  def test_errors_name_their_line
    { "" => /no header line/, "a,b\n" => /header line must have pool/, "pool,time\na,soon\n" => /Line 2: "soon"/,
      "pool,time\n,1\n" => /Line 2 names no pool/, "pool,hour,per_hour\na,x,1\n" => /Line 2: hour/,
      "pool,hour,per_hour\na,1,-1\n" => /Line 2: hour/,
      "pool,time,policy\na,1,best\n" => /Line 2: policy cannot be best/,
      "pool,time,numbers\na,1,1\n" => /Line 2: numbers/ }.each do |text, message|
      assert_match message, assert_raises(Simulation::Traffic::Broken) { read(text) }.message
    end
  end

  # Spreadsheets begin a file with a byte order mark.
  def test_the_command_reads_a_file_with_a_byte_order_mark
    Dir.mktmpdir do |folder|
      file = File.join(folder, "traffic.csv")
      File.write(file, "\uFEFFpool,time\na,1\n")
      out, status = Open3.capture2e(File.join(FOLDER, "simulate"), file)
      assert_predicate status, :success?, out
    end
  end

  def test_the_command_prints_a_table_and_draws
    Dir.mktmpdir do |folder|
      svg = File.join(folder, "forecast.svg")
      out, status = Open3.capture2e(File.join(FOLDER, "simulate"),
                                    File.join(FOLDER, "simulation/sample_traffic.csv"), "--svg", svg)
      assert_predicate status, :success?, out
      assert_match(/^search +50 +\d+ +\d+ +\d+\.\d\d % +\d+\.\d\d % +\d+$/, out)
      assert_match(/^landing page, by hour/, out)
      assert_match(/\A<svg .*<polyline .*<\/svg>\n\z/m, File.read(svg))
    end
  end

  def test_the_command_reports_invalid_arguments
    [["none.csv"], [], ["--policy", "best", "x"], ["--target", "2", __FILE__]].each do |arguments|
      err = StringIO.new
      assert_equal 1, Simulation::Command.new(StringIO.new, err).run(arguments)
      assert_match(/\Asimulate: /, err.string)
    end
  end
end
