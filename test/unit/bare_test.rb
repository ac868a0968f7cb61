# frozen_string_literal: true

require "test_helper"
require "bare"
require "tmpdir"

# When the proof on a bare machine is due; the proof itself is the step `bare`.
class BareTest < Minitest::Test
  def test_it_is_due_when_a_file_that_it_proves_has_changed
    Dir.mktmpdir do |folder|
      passed = File.join(folder, "passed.sha256")
      File.write(passed, Bare.record(Bare::ROOT))
      assert_match(%r{\Abin/setup, bin/try, bin/test are as they were when it passed}, Bare.reason_to_skip(passed))

      File.write(passed, Bare.record(Bare::ROOT).sub(/\h/) { |digit| digit == "0" ? "1" : "0" })
      refute_match(/are as they were/, Bare.reason_to_skip(passed).to_s)
      refute_match(/are as they were/, Bare.reason_to_skip(File.join(folder, "none")).to_s)
    end
  end

  def test_the_record_is_one_that_sha256sum_checks
    assert_equal Bare::PROVED, Bare.record(Bare::ROOT).lines(chomp: true).map { |line| line[/\A\h{64}  (.+)\z/, 1] }
  end

  def test_what_it_runs_is_there
    files, steps = Bare::TESTS.partition { |word| word.include?("/") }
    assert_empty files.reject { |file| File.file?(File.join(Bare::ROOT, file)) }
    assert_equal %w[architecture unit docs], steps
  end
end
