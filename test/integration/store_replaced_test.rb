# frozen_string_literal: true

require "test_helper"
require "support/store_process"
require "English"
require "fcntl"
require "fileutils"
require "tmpdir"

# Files of stores that are removed, replaced by a copy, or opened by root or from another container.
class StoreReplacedTest < Minitest::Test
  # Five visits of 42, of which the file has the first.
  COUNT = <<~RUBY
    visits = Elah::Store.open(ARGV[0], fold_seconds: 600).counter("visits", durability: :memory)
    5.times { visits.increment("42") }
  RUBY
  COUNT_AND_DIE = "#{COUNT}Process.kill(:KILL, Process.pid)".freeze
  OPEN = 'attempt("open") { Elah::Store.open(ARGV[0]).close }'
  AT_MOST = %w[timeout -s KILL 60].freeze

  def setup
    @parent = Dir.mktmpdir("elah-store")
    @dir = File.join(@parent, "shop")
    @file = File.join(@dir, "data.mdb")
  end

  def teardown = FileUtils.remove_entry(@parent)

  def open
    store = Elah::Store.open(@dir)
    yield store
  ensure
    store&.close
  end

  def set_aside = Dir[File.join(@dir, "*.journal-set-aside")]

  # A process that has the store open, after some commits, until its input ends.
  def holding
    script = <<~RUBY
      table = Elah::Store.open(ARGV[0]).table("t")
      6.times { |number| table.put("k", number.to_s) }
      say "open"
      $stdin.read
    RUBY
    command = [RbConfig.ruby, "-I#{StoreProcess::LIB}", "-e", StoreProcess::PRELUDE + script, @dir]
    IO.popen(command, "r+") do |process|
      assert_equal "open\n", process.gets
      yield process.pid
    end
  end

  # The number of a counter in the file before was that of the first table or counter of the new one: the table could
  # not be read, and its writes stopped the store; the counter had the counts of the other.
  def test_counts_of_a_removed_file_do_not_come_into_the_new_one
    StoreProcess.run(COUNT_AND_DIE, @dir)
    File.delete(@file)
    open do |store|
      users = store.table("users")
      users.put("1", "ann")
      assert_equal %w[1], users.range.map(&:first)
      users.put("42", "bob")
      assert_equal %w[ann bob], users.range.map(&:last)
      assert_equal 1, set_aside.size, "for who puts the file back"
    end
    Dir[File.join(@dir, "*")].each { |file| File.delete(file) }
    StoreProcess.run("#{COUNT}File.delete(File.join(ARGV[0], 'data.mdb'))", @dir)
    open do |store|
      assert_equal 100, store.counter("all").increment("42", by: 100)
      assert_equal 0, store.counter("visits").get("42")
    end
  end

  # A copy that is older than the counter: its number was that of the next table.
  def test_counts_that_are_younger_than_a_copy_do_not_come_into_its_next_table
    open { |store| store.table("old").put("1", "x") }
    copy = File.join(@parent, "copy.mdb")
    FileUtils.cp(@file, copy)
    StoreProcess.run(COUNT_AND_DIE, @dir)
    FileUtils.cp(copy, @file)
    open do |store|
      store.table("users").put("42", "bob")
      assert_equal [%w[42 bob]], store.table("users").range.to_a
      assert_equal 0, store.counter("visits").get("42")
    end
  end

  # It is the same file all the same.
  def test_a_compaction_loses_no_counts
    StoreProcess.run(COUNT_AND_DIE, @dir)
    Elah::Store.compact(@dir)
    open { |store| assert_equal 5, store.counter("visits").get("42") }
    assert_empty set_aside
  end

  # LMDB's lock file, which the other process keeps, told the number of a commit that the new file never had. Opening
  # it never ended, at full load, and no signal but KILL did.
  def test_a_new_file_is_refused_while_a_process_has_the_former_one_open
    holding do
      File.delete(@file)
      lines, = StoreProcess.run(OPEN, @dir, under: AT_MOST)
      assert_equal ["open Elah::Store::CannotOpen"], lines
      error = assert_raises(Elah::Store::CannotOpen) { Elah::Store.check(@dir) }
      assert_match(/still has a former data\.mdb open.*stop every process/, error.message)
    end
    open { |store| assert_nil store.table("t").get("k") }
  end

  # In another container there is a process with the same ID. It was said that the disk had failed.
  def test_a_process_with_the_same_id_in_another_container_is_told_so
    holding do
      reader, writer = IO.pipe
      pid = fork do
        writer.close
        reader.read
        error = assert_raises(Elah::Store::CannotOpen) { Elah::Store.open(@dir) }
        exit!(error.message.include?("with the ID #{Process.pid}") && error.message.include?("container") ? 0 : 1)
      ensure
        exit!(2)
      end
      File.open(File.join(@dir, "lock.mdb"), "r+") do |file|
        # As LMDB marks a reader: by a lock of the byte at the ID of its process.
        file.fcntl(Fcntl::F_SETLK, [Fcntl::F_WRLCK, IO::SEEK_SET, pid, 1, 0].pack("ssx4qqix4"))
        writer.close
        Process.wait(pid)
      end
      assert_equal 0, $CHILD_STATUS.exitstatus
    end
  end

  # After a compaction there is no lock file. Root made one that the server could not open.
  def test_root_leaves_the_files_to_the_owner_of_the_store
    skip "only root can be another user" unless Process.uid.zero?

    open { |store| store.table("t").put("k", "v") }
    File.chown(65_534, 65_534, @dir, @file)
    File.delete(File.join(@dir, "lock.mdb"))
    Elah::Store.check(@dir)
    assert_equal [65_534, 65_534], File.stat(File.join(@dir, "lock.mdb")).then { |file| [file.uid, file.gid] }
  end
end
