# frozen_string_literal: true

require "test_helper"
require_relative "../support/lab_case"
require_relative "../support/patience"

# The lab measures real processes: one that serves, and those that have a bad day.
class LabTest < Minitest::Test
  include LabCase
  include Patience

  def patience_seconds = 60

  # Built before anything is waited for.
  def setup
    super
    Lab::Setup.new { nil }.generators
  end

  def test_a_run_measures_the_good_and_says_what_failed
    record = run_lab(catalogue("honest", "wrong", "mute", "crash", "failing"))
    runs = record.runs.to_h { |run| [run[:contender], run] }
    assert_equal %w[honest wrong mute crash failing], runs.keys

    honest = runs["honest"]
    refute honest[:failure]
    assert_operator honest[:saturated].first[:rate], :>, 50
    assert_operator honest[:saturated].first[:cpu_us], :>, 0
    assert_in_delta 50, honest[:paced].first[:answered_rate], 25
    assert_operator honest[:paced].first[:spectrum].size, :>, 5
    assert_operator honest[:memory][:proportional_bytes], :>, 1_000_000
    assert_equal({ passed: 1, total: 3, failures: {} }, honest[:contract])

    assert_equal "contract", runs["wrong"][:failure][:step]
    assert_includes runs["wrong"][:failure][:message], "hello w0rld"
    assert_equal "start", runs["mute"][:failure][:step]
    assert_includes runs["mute"][:failure][:message], "this server cannot start"
    assert_equal "load", runs["crash"][:failure][:step]
    assert_includes runs["crash"][:failure][:message], "exit 7"
    assert_operator runs["failing"][:saturated].first[:errors][:status], :>, 0

    assert_equal 5, contender_pids.size
    assert_empty contender_pids.select { |pid| alive?(pid) }, "every server has ended"
    page = File.read(Lab::Report.new(Lab::Summary.new(record)).write(record))
    assert_includes page, "hello w0rld"
  end

  def test_elah_is_measured
    all = Lab::Catalogue.new
    record = Lab::Session.new(contenders: all.pick_contenders(["elah"]), workloads: all.pick_workloads(["hello"]), plan: Lab::Plan.new(**PLAN),
                              command: "bin/lab", out: StringIO.new, parent: @folder, install: false).run
    run = record.runs.first
    refute run[:failure], run[:failure].inspect
    assert_equal({ passed: 3, total: 3, failures: {} }, run[:contract])
    assert_operator run[:saturated].first[:rate], :>, 100
  end

  def test_a_server_that_does_not_listen_in_time_or_does_not_end_is_ended
    runs = run_lab(catalogue("late", "stubborn")).runs
    assert_match(/not ready within 2 s/, runs.first[:failure][:message])
    refute runs.last[:failure]
    assert_empty contender_pids.select { |pid| alive?(pid) }
  end

  def test_a_long_run_shows_who_leaks
    soaks = run_lab(catalogue("leak"), soak_seconds: 8).runs.select { |run| run[:soak] }
    assert_equal 4, soaks.first[:pieces].size
    assert_equal true, soaks.first[:leaks], soaks.first.inspect
  end

  def test_an_interrupt_keeps_what_was_measured_and_leaves_no_process_behind
    lab = start_lab("honest", "stubborn")
    wait_until("a run is on disk and another one is on") { runs_file && File.foreach(runs_file).count >= 1 && contender_pids.size >= 2 }
    Process.kill("TERM", lab)
    assert_equal 130, Process.wait2(lab).last.exitstatus, File.read(File.join(@folder, "err"))

    assert_empty contender_pids.select { |pid| alive?(pid) }
    assert_operator Lab::Record.newest(@folder).runs.size, :>=, 1
    assert_includes File.read(File.join(@folder, "out")), "Report: "
  end

  def test_a_lab_that_is_killed_takes_its_server_along
    lab = start_lab("honest")
    wait_until("a server is on") { contender_pids.any? { |pid| alive?(pid) } }
    Process.kill("KILL", lab)
    Process.wait(lab)
    wait_until("it has ended") { contender_pids.none? { |pid| alive?(pid) } }
  end

  private

  # bin/lab with a catalogue of these contenders.
  # @return [Integer] its pid
  def start_lab(*modes)
    catalogue(*modes)
    script = "require './lab/lib/lab'; all = Lab::Catalogue.new(contenders: ARGV[0], workloads: ARGV[1]); " \
             "exit Lab::CommandLine.new(catalogue: all, parent: ARGV[2]).run(%w[--workload hello --rounds 50])"
    Process.spawn("ruby", "-e", script, *%w[contenders.yml workloads.yml].map { |name| File.join(@folder, name) }, @folder,
                  out: File.join(@folder, "out"), err: File.join(@folder, "err"))
  end

  def runs_file = Dir.glob(File.join(@folder, "*/runs.ndjson")).first
end
