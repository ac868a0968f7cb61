# frozen_string_literal: true

require "test_helper"
require_relative "../support/gems"
require_relative "../support/lab_case"
require_relative "../support/patience"

# The lab measures real processes: one that serves, and those that have a bad day.
class LabTest < Minitest::Test
  include LabCase
  include Patience

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
    assert_operator honest[:saturated].first[:rate], :>, 0
    assert_operator honest[:saturated].first[:cpu_us], :>, 0
    assert_includes 1..75, honest[:paced].first[:answered_rate], "no more than planned, 50 a second, is sent"
    assert_operator honest[:paced].first[:spectrum].size, :>, 5
    assert_operator honest[:memory][:proportional_bytes], :>, honest[:memory][:anonymous_bytes]
    assert_operator honest[:memory][:anonymous_bytes], :>, 1_000_000
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
    run = measure("elah", "hello")
    refute run[:failure], run[:failure].inspect
    assert_equal({ passed: 3, total: 3, failures: {} }, run[:contract])
    assert_operator run[:saturated].first[:rate], :>, 0
  end

  def test_a_server_that_does_not_listen_in_time_or_does_not_end_is_ended
    runs = run_lab(catalogue("late", "stubborn")).runs
    assert_match(/not ready within 5 s/, runs.first[:failure][:message])
    refute runs.last[:failure]
    wait_until("every server has ended") { contender_pids.none? { |pid| alive?(pid) } }
  end

  def test_a_process_that_a_server_lets_go_is_measured_and_ended_with_it
    all = catalogue("daemon")
    Lab::ServerProcess.new(all.contenders["daemon"], all.workloads["hello"]).run do |server|
      wait_until("it has been let go") { contender_pids.size == 2 }
      assert_empty contender_pids - server.tree.pids
    end
    wait_until("both have ended") { contender_pids.none? { |pid| alive?(pid) } }
  end

  def test_a_yardstick_answers_without_a_contract_and_without_data
    run = run_lab(catalogue("wrong", "mocks" => ["hello"])).runs.first
    refute run[:failure]
    assert_nil run[:contract]
    assert_operator run[:saturated].first[:rate], :>, 0
  end

  def test_a_command_that_is_not_there_is_said
    run = run_lab(catalogue("honest", "run" => ["no-such-command"])).runs.first
    assert_equal "start", run[:failure][:step]
    assert_match(/no-such-command/, run[:failure][:message])
  end

  def test_apis_are_measured_on_the_embedded_store_and_on_servers_also_on_one_that_was_filled_before
    Gems.missing("sqlite3")&.then { |reason| skip reason }
    %w[ring_pools leaderboards_redis items_mongodb].each do |workload|
      run = measure("sinatra", workload)
      refute run[:failure], "#{workload}: #{run[:failure]}"
      assert_empty run[:contract][:failures]
      # On a machine that is busy with other things some are late; none is answered wrongly.
      (run[:saturated] + run[:paced]).each { |one| assert_empty one[:errors].keys.map(&:to_s) - ["timeout"], workload }
      assert_operator run[:saturated].first[:rate] + run[:paced].first[:answered_rate], :>, 0
    end
  end

  def test_rows_are_loaded_once_and_the_contract_is_played_on_an_empty_store
    loads = File.join(@folder, "loads")
    run = [RbConfig.ruby, "--disable=gems", "test/support/lab/contender.rb", "{port}", "honest", pids_file, "{data}"]
    loader = ["sh", "-c", "echo once >>#{loads}; cp {rows_file} {data}/rows; wc -l <{data}/rows >>#{loads}"]
    entry = { "run" => run, "sources" => [], "loaders" => { "hello" => loader } }
    runs = run_lab(catalogue("honest", workload: { "rows" => 3 }, **entry), rounds: 2).runs
    assert_equal [nil, nil], runs.map { |one| one[:failure] }
    assert_equal %W[once\n 3\n], File.readlines(loads)
    stores = runs.map { |one| one[:command].split.last }
    assert_equal Dir.glob(File.join(@folder, "stores/hello-3-*")), stores.uniq
    assert_equal 4, contender_pids.size, "for each round a process that keeps the contract, and one that is measured"
  end

  def test_a_loader_that_fails_is_a_failure_of_the_run_and_leaves_no_store
    entry = { "sources" => [], "loaders" => { "hello" => ["sh", "-c", "echo full; exit 3"] } }
    runs = run_lab(catalogue("honest", workload: { "rows" => 3 }, **entry)).runs
    assert_equal "store", runs.first[:failure][:step]
    assert_match(/full/, runs.first[:failure][:message])
    assert_empty Dir.glob(File.join(@folder, "stores/*"))
  end

  def test_a_database_that_does_not_start_is_a_failure_of_the_run
    run = run_lab(catalogue("honest", workload: { "store" => "oracle" })).runs.first
    assert_equal "store", run[:failure][:step]
    assert_match(/no store oracle; there are redis/, run[:failure][:message])
  end

  def test_a_long_run_shows_who_leaks
    soaks = run_lab(catalogue("leak"), soak_seconds: 8).runs.select { |run| run[:soak] }
    assert_equal 4, soaks.first[:pieces].size
    assert_equal true, soaks.first[:leaks], soaks.first.inspect
  end

  def test_an_interrupt_keeps_what_was_measured_and_leaves_no_process_behind
    lab = start_lab("honest", "stubborn")
    wait_until("a run is on disk and another one is on") do
      runs_file && File.foreach(runs_file).count >= 1 && contender_pids.size >= 2
    end
    Process.kill("TERM", lab)
    assert_equal 130, Process.wait2(lab).last.exitstatus, File.read(File.join(@folder, "err"))

    wait_until("every server has ended") { contender_pids.none? { |pid| alive?(pid) } }
    assert_operator Lab::Record.newest(@folder).runs.size, :>=, 1
    assert_includes File.read(File.join(@folder, "out")), "Report: "
  end

  def test_what_was_interrupted_goes_on_where_it_stopped
    all = catalogue("honest", "failing")
    record = run_lab(all, rounds: 2)
    whole = record.runs
    record.runs = whole.first(3) # the second round was cut off
    assert_equal 0, resume(all)
    assert_equal whole.map { |run| run.values_at(:contender, :round) },
                 record.runs.map { |run| run.values_at(:contender, :round) }
    assert_equal whole.first(2), record.runs.first(2)
    assert_match(/interrupted, and went on/, record.about[:notices].join)

    record.about = record.about.merge(machine: record.about[:machine].merge(cpu: "1 × Z80"))
    assert_equal 1, resume(all)
    assert_match(/cannot go on: the machine was .*Z80/, @said)
    assert_equal 4, record.runs.size
  end

  def test_a_lab_that_is_killed_takes_its_server_along
    lab = start_lab("honest")
    wait_until("a server is on") { contender_pids.any? { |pid| alive?(pid) } }
    Process.kill("KILL", lab)
    Process.wait(lab)
    wait_until("it has ended") { contender_pids.none? { |pid| alive?(pid) } }
  end

  private

  # @return [Hash] the run of a contender of the lab's own in one of its workloads
  def measure(contender, workload)
    all = Lab::Catalogue.new
    Lab::Session.new(contenders: all.pick_contenders([contender]), workloads: all.pick_workloads([workload]),
                     plan: Lab::Plan.new(**PLAN), command: "bin/lab", out: StringIO.new, parent: @folder,
                     install: false).run.runs.last
  end

  # @return [Integer] exit status of bin/lab resume
  def resume(catalogue)
    status = nil
    command_line = Lab::CommandLine.new(catalogue: catalogue, parent: @folder)
    @said = capture_io { status = command_line.run(%w[resume --no-install]) }.join
    status
  end

  # bin/lab with a catalogue of these contenders.
  # @return [Integer] its pid
  def start_lab(*modes)
    catalogue(*modes)
    script = "require './lab/lib/lab'; all = Lab::Catalogue.new(contenders: ARGV[0], workloads: ARGV[1]); " \
             "exit Lab::CommandLine.new(catalogue: all, parent: ARGV[2]).run(%w[--workload hello --rounds 50])"
    files = %w[contenders.yml workloads.yml].map { |name| File.join(@folder, name) }
    Process.spawn(RbConfig.ruby, "-e", script, *files, @folder,
                  out: File.join(@folder, "out"), err: File.join(@folder, "err"))
  end

  def runs_file = Dir.glob(File.join(@folder, "*/runs.ndjson")).first
end
