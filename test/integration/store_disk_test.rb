# frozen_string_literal: true

# Gives stores directories that they cannot use, and a disk that is full: a small tmpfs in a namespace of its own.
require "test_helper"
require "support/store_process"
require "etc"
require "fileutils"
require "tmpdir"

class StoreDiskTest < Minitest::Test
  def setup
    @parent = Dir.mktmpdir("elah-store")
    @dir = File.join(@parent, "data")
  end

  def teardown
    FileUtils.chmod_R("u+rwX", @parent)
    FileUtils.remove_entry(@parent)
  end

  def test_a_full_disk_refuses_writes_and_loses_nothing
    lines = on_tmpfs(3, <<~RUBY)
      store = Elah::Store.open(ARGV[0])
      table = store.table("links")
      stored = 0
      begin
        loop { table.put("k\#{stored}", "v" * 20_000) && stored += 1 }
      rescue Elah::Store::Full => e
        say e.message
      end
      attempt("again") { table.put("another", "v" * 20_000) }
      attempt("count") { store.counter("visits", durability: :memory).increment("n") }
      say "readable \#{(0...stored).all? { |i| table.get("k\#{i}").size == 20_000 } && table.size == stored}"
      store.close
      store = Elah::Store.open(ARGV[0])
      table = store.table("links")
      say "reopened \#{(0...stored).all? { |i| table.get("k\#{i}").size == 20_000 } && table.size == stored}"
      (stored / 2).times { |i| table.delete("k\#{i}") }
      attempt("after deletes") { (stored / 4).times { |i| table.put("new\#{i}", "v" * 20_000) } && true }
    RUBY
    assert_match(/\AThe store is full: the disk has no room/, lines.shift)
    assert_equal "again Elah::Store::Full", lines.shift
    assert_match(/\Acount (Elah::Store::Full|1)\z/, lines.shift)
    assert_equal ["readable true", "reopened true", "after deletes true"], lines
  end

  def test_a_store_is_not_ready_as_long_as_its_disk_is_full
    lines = on_tmpfs(4, <<~RUBY)
      store = Elah::Store.open(ARGV[0])
      store.table("links").put("k", "v")
      reason = -> { Elah::Store.check_ready || nil rescue $!.message }
      say reason.call.inspect
      filler = File.join(ARGV[0], "..", "filler")
      File.open(filler, "wb") { |file| loop { file.syswrite("x" * 4096) } } rescue say($!.class)
      Thread.pass until (found = reason.call)
      say found
      File.delete(filler)
      Thread.pass while reason.call
      attempt("put") { store.table("links").put("k", "w") }
    RUBY
    assert_equal ["nil", "Errno::ENOSPC", "The store is full: the disk has no room.", "put true"], lines
  end

  # The files that are mapped lie whole on the disk before they are touched: a sparse one would end the process with
  # SIGBUS.
  def test_a_disk_that_fills_up_under_a_journal_does_not_kill
    lines = on_tmpfs(4, <<~RUBY)
      store = Elah::Store.open(ARGV[0], fold_seconds: 60)
      visits = store.counter("visits", durability: :memory)
      2.times { visits.increment("n") }
      filler = File.join(ARGV[0], "..", "filler")
      File.open(filler, "wb") { |file| loop { file.syswrite("x" * 4096) } } rescue say($!.class)
      attempt("counts") { (1..10_000).sum { |i| visits.increment("key number \#{i}") } }
      attempt("flush") { store.flush }
      File.delete(filler)
      attempt("flush") { store.flush }
      attempt("sum") { (1..10_000).sum { |i| visits.get("key number \#{i}") } }
    RUBY
    assert_equal ["Errno::ENOSPC", "counts 10000", "flush Elah::Store::Full", "flush nil", "sum 10000"], lines
  end

  def test_a_disk_without_room_for_a_new_store
    lines = on_tmpfs(1, <<~RUBY)
      File.open(File.join(ARGV[0], "..", "filler"), "wb") { |file| loop { file.syswrite("x" * 4096) } } rescue nil
      attempt("open") { Elah::Store.open(ARGV[0]) }
    RUBY
    assert_equal ["open Elah::Store::Full"], lines
  end

  def test_a_file_that_is_no_store
    FileUtils.mkdir_p(@dir)
    File.binwrite(File.join(@dir, "data.mdb"), "not a store" * 10_000)
    assert_refused(/data\.mdb is not an LMDB file, or it is damaged/)
  end

  def test_a_file_that_was_cut_off
    store = Elah::Store.open(@dir)
    store.table("links").put("k", "v" * 100_000)
    store.close
    File.truncate(File.join(@dir, "data.mdb"), 40_000)
    assert_refused(/its data\.mdb is damaged: it has 40000 bytes and should have at least 1\d{5}; it was cut off/)
  end

  def test_a_directory_that_is_a_file
    File.write(@dir, "")
    assert_refused(/exists/i)
  end

  def test_a_directory_that_this_user_may_not_write_to
    FileUtils.mkdir_p(@dir)
    File.chmod(0o755, @parent)
    File.chmod(0o555, @dir)
    pid = fork do
      Process::UID.change_privilege(Etc.getpwnam("nobody").uid) if Process.uid.zero?
      assert_refused(/this user may not write there/)
      exit!(0)
    rescue Minitest::Assertion => e
      warn e.message
      exit!(1)
    end
    assert Process.wait2(pid).last.success?
  end

  private

  def assert_refused(reason)
    error = assert_raises(Elah::Store::CannotOpen) { Elah::Store.open(@dir) }
    assert_match(/\AThe store in #{Regexp.escape(@dir)} cannot be opened(:|, since) .*#{reason}/, error.message)
  end

  # The lines of a script whose directory is on a disk of so many megabytes.
  def on_tmpfs(megabytes, script)
    FileUtils.mkdir_p(@dir)
    mount = 'mount -t tmpfs -o size="$0" tmpfs "$1" && mkdir "$1/store" && shift && exec "$@"'
    may_mount = system("unshare", "--mount", "sh", "-c", mount, "1m", @dir, "true", err: File::NULL)
    skip "this user may not mount" unless may_mount
    under = ["unshare", "--mount", "sh", "-c", mount, "#{megabytes}m", @dir]
    lines, status = StoreProcess.run(script, File.join(@dir, "store"), under: under)
    assert status.success?, "#{status}:\n#{lines.join("\n")}"
    lines
  end
end
