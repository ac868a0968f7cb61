# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "../../support/patience"
require_relative "../../../bench/lib/generator_process"

class GeneratorProcessTest < Minitest::Test
  include Patience

  def test_the_report_is_what_is_printed_from_the_first_brace_on
    assert_equal [{ "requests" => 2 }, 1], run_shell(%(echo Running; echo '{"requests":2}'; exit 1))
  end

  def test_one_that_does_not_end_is_killed_and_named
    before = children
    error = assert_raises(Bench::GeneratorProcess::Failure) { run_shell("exec sleep 1000", seconds_max: 0) }
    assert_equal "`sh -c exec sleep 1000` did not end within 0 s.", error.message
    wait_until("it has ended") { (children - before).empty? }
  end

  def test_one_without_a_report_is_told_with_its_last_words
    error = assert_raises(Bench::GeneratorProcess::Failure) { run_shell("echo first >&2; echo no such host >&2") }
    assert_includes error.message, "gave no report: no such host"
  end

  def test_one_that_cannot_be_started_is_told
    assert_raises(Errno::ENOENT) { Bench::GeneratorProcess.run(["/no/such/generator"], seconds_max: 1) }
  end

  private

  def run_shell(script, seconds_max: 60) = Bench::GeneratorProcess.run(["sh", "-c", script], seconds_max: seconds_max)
  def children = File.read("/proc/self/task/#{Process.pid}/children").split
end
