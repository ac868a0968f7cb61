# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "../../support/patience"
require_relative "../../../bench/lib/cpu_use"

class AwakeTest < Minitest::Test
  include Patience

  SCHED_IDLE = 5

  def test_what_keeps_the_cores_awake_gives_way_to_everything_and_ends_with_the_block
    pids = Bench::Awake.keep do |awake|
      assert_equal Bench::Awake::CORES.size, awake.pids.size
      awake.pids.each { |pid| wait_until { File.read("/proc/#{pid}/cmdline").start_with?("sh") } }
      assert_equal [SCHED_IDLE], awake.pids.map { |pid| policy(pid) }.uniq
      awake.pids.dup
    end
    pids.each { |pid| assert_raises(Errno::ESRCH) { Process.kill(0, pid) } }
  end

  def test_it_ends_when_the_block_fails
    pids = []
    assert_raises(IndexError) { Bench::Awake.keep { |awake| pids.replace(awake.pids) && raise(IndexError) } }
    refute_empty pids
    pids.each { |pid| assert_raises(Errno::ESRCH) { Process.kill(0, pid) } }
  end

  def test_its_time_is_not_taken_for_that_of_other_programs
    use = Bench::CpuUse.new(2.0, 1.0, 0.5, 4.0, 2.25)
    assert_in_delta 0.125, use.foreign_share
  end

  private

  # The fields of proc(5) after the name in brackets begin with the third; the policy is the 41st.
  def policy(pid) = File.read("/proc/#{pid}/stat").rpartition(") ").last.split[38].to_i
end
