# frozen_string_literal: true

require "test_helper"
require "tmpdir"

class RunDirTest < Minitest::Test
  def with_base = Dir.mktmpdir { |folder| yield File.join(folder, "run") }

  def leave_behind(base, pid)
    folder = File.join(base, pid.to_s)
    Dir.mkdir(folder)
    Elah::Scoreboard.create(File.join(folder, "scoreboard"), 1, 1, 1)
    folder
  end

  # The number of a process that has ended.
  def dead_pid = Process.spawn("true").tap { |pid| Process.wait(pid) }

  def test_it_is_the_users_alone
    with_base do |base|
      dir = Elah::RunDir.make(base)
      assert_equal [0o40700, 0o40700], [base, dir.path].map { |path| File.stat(path).mode }
      assert_equal Process.pid, dir.process_id
      dir.remove
      refute_path_exists dir.path
    end
  end

  def test_a_folder_that_others_may_write_is_refused
    with_base do |base|
      Dir.mkdir(base)
      File.chmod(0o777, base)
      assert_match(/Other users may write to/, assert_raises(Elah::RunDirError) { Elah::RunDir.make(base) }.message)
    end
  end

  def test_a_link_is_refused
    with_base do |base|
      File.symlink(Dir.tmpdir, base)
      assert_raises(Elah::RunDirError) { Elah::RunDir.make(base) }
    end
  end

  def test_a_path_that_is_too_long_for_sockets_is_refused
    with_base do |base|
      error = assert_raises(Elah::RunDirError) { Elah::RunDir.make(base + "x" * 80) }
      assert_match(/exceeds 80 bytes/, error.message)
    end
  end

  def test_a_folder_that_cannot_be_made_is_an_error
    assert_raises(Elah::RunDirError) { Elah::RunDir.make("/proc/elah/run") }
  end

  # It removed the folder that the first, in another container, had just made, or both used it.
  def test_of_servers_with_one_process_id_that_start_together_the_second_is_refused
    with_base do |base|
      first = Elah::RunDir.make(base)
      second = Thread.new { assert_raises(Elah::RunDirError) { Elah::RunDir.make(base) }.message }
      second.report_on_exception = false
      Thread.pass until second.stop?
      Elah::Scoreboard.create(first.scoreboard_path, 1, 1, 1)
      first.hold
      assert_match(/A server with the same process ID uses/, second.value)
    end
  end

  def test_what_dead_servers_left_is_removed_and_what_lives_stays
    with_base do |base|
      Dir.mkdir(base, 0o700)
      dead = leave_behind(base, dead_pid)
      orphaned = leave_behind(base, dead_pid)
      living = leave_behind(base, Process.ppid)
      Elah::RunDir.new(orphaned).hold
      Elah::RunDir.make(base)
      assert_equal [false, true, true], [dead, orphaned, living].map { |path| File.exist?(path) }
    end
  end

  # Of two containers with one run_dir, in which both servers are process 1, the second start removed the folder of the
  # first.
  def test_the_folder_of_a_living_server_with_the_same_process_id_stays
    with_base do |base|
      Dir.mkdir(base, 0o700)
      held = Elah::RunDir.new(leave_behind(base, Process.pid))
      held.hold
      error = assert_raises(Elah::RunDirError) { Elah::RunDir.make(base) }
      assert_match(/same process ID uses .*Set another/, error.message)
      assert_path_exists held.scoreboard_path
    end
  end

  def test_it_finds_the_servers_that_live
    with_base do |base|
      Dir.mkdir(base, 0o700)
      leave_behind(base, dead_pid)
      held = Elah::RunDir.new(leave_behind(base, Process.pid))
      held.hold
      assert_equal [held.path], Elah::RunDir.all(base).map(&:path)
    end
  end
end
