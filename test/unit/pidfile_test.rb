# frozen_string_literal: true

require "test_helper"
require "tmpdir"

class PidfileTest < Minitest::Test
  def setup
    @folder = Dir.mktmpdir
    @path = File.join(@folder, "elah.pid")
  end

  def teardown = FileUtils.remove_entry(@folder)

  def hold = Elah::Pidfile.hold(@path) { File.read(@path) }

  # A process that lives until the block ends.
  def with_process(name = "cat")
    input, output = IO.pipe
    pid = Process.spawn(["cat", name], in: input, out: File::NULL)
    input.close
    yield pid
  ensure
    output.close
    Process.wait(pid)
  end

  # Starts processes at the same time that hold the file until all have tried.
  #
  # @return [String] a letter of each: h holds it, - was refused, ! failed otherwise
  def holders(count)
    start, go = IO.pipe
    outcomes, outcome = IO.pipe
    finish, stop = IO.pipe
    pids = Array.new(count) do
      fork do
        [go, stop].each(&:close)
        start.read
        Elah::Pidfile.hold(@path) { outcome.write("h") && finish.read }
      rescue Elah::Pidfile::Held
        outcome.write("-")
      rescue StandardError
        outcome.write("!")
      ensure
        exit!(0)
      end
    end
    [go, outcome].each(&:close)
    outcomes.read(count)
  ensure
    stop.close
    pids.each { |pid| Process.wait(pid) }
    [start, outcomes, finish].each(&:close)
  end

  def test_it_holds_the_process_id_while_the_block_runs
    assert_equal "#{Process.pid}\n", hold
    refute_path_exists @path
  end

  # Each restart on a full disk left an empty file beside it.
  def test_a_file_that_cannot_be_written_leaves_nothing
    script = <<~RUBY
      trap(:XFSZ, "IGNORE")
      Process.setrlimit(:FSIZE, 0)
      begin
        Elah::Pidfile.hold(ARGV.first) { raise "held" }
      rescue Elah::Pidfile::NotWritable
        exit 7
      end
    RUBY
    system(RbConfig.ruby, "-Ilib", "-relah", "-relah/server/pidfile", "-e", script, @path)
    assert_equal 7, $?.exitstatus
    assert_empty Dir.children(@folder)
  end

  def test_it_is_removed_when_the_block_raises
    assert_raises(RuntimeError) { Elah::Pidfile.hold(@path) { raise "x" } }
    refute_path_exists @path
  end

  def test_a_living_process_keeps_it
    with_process do |pid|
      File.write(@path, pid.to_s)
      assert_includes assert_raises(Elah::Pidfile::Held) { hold }.message, "Process #{pid}"
      assert_equal pid.to_s, File.read(@path)
    end
  end

  # After the machine had crashed, the server did not start while another process had its number, and said to stop that.
  def test_one_that_was_written_before_its_process_began_is_replaced
    with_process do |pid|
      File.write(@path, pid.to_s)
      File.utime(Time.now, Time.now - 60, @path)
      Elah::Pidfile.check(@path, Process.pid)
      assert_equal "#{Process.pid}\n", hold
    end
  end

  # The clock may have been set while it ran.
  def test_one_that_seems_older_than_a_process_with_the_name_of_the_server_is_kept
    with_process("elah serve") do |pid|
      File.write(@path, pid.to_s)
      File.utime(Time.now, Time.now - 60, @path)
      assert_raises(Elah::Pidfile::Held) { Elah::Pidfile.check(@path, Process.pid) }
    end
  end

  def test_a_stale_or_senseless_one_is_replaced
    dead = nil
    with_process { |pid| dead = pid }
    [dead, "no number", "", -1, 0, 10**23, Process.pid].each do |content|
      File.write(@path, content.to_s)
      assert_equal "#{Process.pid}\n", hold, content.inspect
    end
  end

  # Both found the file of a dead process. The second deleted the one that the first had written by then, and both ran.
  # Later, one failed as the file that it had found was gone when it looked whether it is a device.
  def test_of_servers_that_start_together_beside_a_stale_file_one_holds_it
    dead = nil
    with_process { |pid| dead = pid }
    30.times do
      File.write(@path, dead.to_s)
      assert_equal "-------h", holders(8).chars.sort.join
    end
  end

  def test_one_that_was_taken_over_is_left
    Elah::Pidfile.hold(@path) { File.write(@path, "1") }
    assert_equal "1", File.read(@path)
  end

  def test_one_that_was_removed_is_left
    assert_equal 7, Elah::Pidfile.hold(@path) { File.delete(@path) && 7 }
  end

  def test_one_that_cannot_be_written_is_named
    { "none/elah.pid" => "No such file or directory", "." => "Is a directory" }.each do |name, reason|
      path = File.expand_path(name, @folder)
      error = assert_raises(Elah::Pidfile::NotWritable) { Elah::Pidfile.hold(path) { flunk } }
      assert_equal "The pid file #{path} cannot be written: #{reason}. Make its folder, or set another --pidfile.",
                   error.message
    end
  end

  def test_a_check_writes_nothing_that_stays
    with_process do |pid|
      File.write(@path, pid.to_s)
      Elah::Pidfile.check(@path, pid)
      assert_raises(Elah::Pidfile::Held) { Elah::Pidfile.check(@path, Process.pid) }
    end
    File.delete(@path)
    Elah::Pidfile.check(@path, Process.pid)
    Elah::Pidfile.check(nil, Process.pid)
    assert_raises(Elah::Pidfile::NotWritable) { Elah::Pidfile.check(File.join(@folder, "absent/pid"), Process.pid) }
    assert_empty Dir.children(@folder)
  end

  def test_that_of_the_image_before_is_deleted_when_another_is_held
    earlier = File.join(@folder, "earlier.pid")
    File.write(earlier, Process.pid.to_s)
    Elah::Pidfile.hold(@path, earlier: earlier) { assert_equal ["elah.pid"], Dir.children(@folder) }
    Elah::Pidfile.hold(nil, earlier: earlier) { assert_empty Dir.children(@folder) }
  end

  # It deleted the file of the server that runs on.
  def test_a_fork_that_leaves_the_block_leaves_the_file
    parent = Process.pid
    Elah::Pidfile.hold(@path) do
      child = fork or next
      Process.wait(child)
      assert_path_exists @path
    end
  ensure
    exit!(0) unless Process.pid == parent
  end

  # /dev/null was replaced by a regular file, for the whole machine, and deleted at the stop. The start waited for ever
  # for a writer of a pipe, and for the file of a broken link.
  def test_what_is_no_regular_file_is_left_alone
    File.symlink("/dev/null", link = File.join(@folder, "null"))
    assert_equal 7, Elah::Pidfile.hold(link) { 7 }
    Elah::Pidfile.check(link, Process.pid)
    File.symlink("nowhere", File.join(@folder, "broken"))
    File.mkfifo(File.join(@folder, "pipe"))
    %w[broken pipe].each do |name|
      error = assert_raises(Elah::Pidfile::NotWritable) { Elah::Pidfile.hold(File.join(@folder, name)) { flunk } }
      assert_match(/is no regular file: set another --pidfile/, error.message)
      assert_raises(Elah::Pidfile::NotWritable) { Elah::Pidfile.check(File.join(@folder, name), Process.pid) }
    end
    assert_equal %w[broken null pipe], Dir.children(@folder).sort
  end

  # The start waited for ever, without a word, as under `flock -n elah.pid elah serve --pidfile elah.pid`.
  def test_one_that_another_process_has_locked_is_named
    File.write(@path, "")
    File.open(@path) do |file|
      file.flock(File::LOCK_EX)
      error = assert_raises(Elah::Pidfile::NotWritable) { hold }
      assert_equal "The pid file #{@path} is locked by another process.", error.message
    end
  end

  # After a restart, its own was to be locked as well, and the server ended.
  def test_its_own_is_written_although_another_process_has_locked_it
    File.write(@path, Process.pid.to_s)
    File.open(@path) do |file|
      file.flock(File::LOCK_EX)
      assert_equal "#{Process.pid}\n", hold
    end
    assert_empty Dir.children(@folder)
  end

  def test_no_path_writes_nothing
    assert_equal 7, Elah::Pidfile.hold(nil) { 7 }
    assert_empty Dir.children(@folder)
  end
end
