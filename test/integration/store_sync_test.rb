# frozen_string_literal: true

# Shows with strace what kill -9 cannot: each acknowledged write was synced before, and a sync that failed acknowledges nothing.
require "test_helper"
require "support/store_process"
require "fileutils"
require "tmpdir"

class StoreSyncTest < Minitest::Test
  WRITES = "pwrite64,writev,fdatasync,fsync,msync,write"

  # The commit record of LMDB, written through a descriptor that is opened with O_DSYNC.
  SYNCED_COMMIT = /\Apwrite64\(\d+<[^>]*data\.mdb>.* 120, \d+\)\s*= 120/.freeze
  SYNCED_DATA = /\Afdatasync\(\d+<[^>]*data\.mdb>\)\s*= 0/.freeze

  def setup
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    @parent = Dir.mktmpdir("elah-store")
    @dir = File.join(@parent, "data")
  end

  def teardown
    FileUtils.remove_entry(@parent) if @parent
  end

  def test_every_acknowledgement_follows_a_completed_sync
    lines, status, calls = StoreProcess.trace(<<~RUBY, @dir, trace: "#{WRITES},openat")
      store = Elah::Store.open(ARGV[0])
      table = store.table("links")
      counter = store.counter("visits")
      say "opened"
      5.times { |i| table.put("k\#{i}", "v") && say("acknowledged put") }
      5.times { counter.increment("n") && say("acknowledged increment") }
      table.delete("k0") && say("acknowledged delete")
      store.transaction { |tx| tx.put(table, "a", tx.get(table, "k1")) } && say("acknowledged transaction")
    RUBY
    assert status.success?, lines.join("\n")
    assert_equal 12, lines.grep(/acknowledged/).size
    assert calls.grep(/openat.*data\.mdb", O_WRONLY\|O_DSYNC/).any?, "the commit record goes through a synchronous descriptor"
    steps = calls.drop_while { |call| !call.include?("opened") }.slice_after(/acknowledged/).select { |step| step.last.include?("acknowledged") }
    assert_equal 12, steps.size
    steps.each do |step|
      data = step.index { |call| SYNCED_DATA.match?(call) }
      commit = step.index { |call| SYNCED_COMMIT.match?(call) }
      assert data && commit && data < commit, "#{step.last} did not follow a sync of the data and of the commit:\n#{step.join("\n")}"
    end
  end

  def test_writes_that_wait_together_share_a_sync
    lines, _, calls = StoreProcess.trace(<<~RUBY, @dir, trace: "fdatasync", inject: "fdatasync:delay_exit=10000")
      table = Elah::Store.open(ARGV[0]).table("links")
      Array.new(32) { |n| Thread.new { 20.times { |i| table.put("\#{n}-\#{i}", "v") } } }.each(&:join)
      say table.size
    RUBY
    assert_equal ["640"], lines
    syncs = calls.grep(SYNCED_DATA).size
    assert_operator syncs, :<, 100, "640 writes of 32 threads took #{syncs} syncs"
  end

  FAILING = <<~RUBY
    store = Elah::Store.open(ARGV[0], fold_seconds: 60)
    table = store.table("links")
    counter = store.counter("visits", durability: :memory)
    attempt("put 1") { table.put("k1", "v") }
    attempt("count 1") { counter.increment("n", durability: :disk) }
    attempt("count 2") { counter.increment("n") }
    attempt("put 2") { table.put("k2", "v") }
    attempt("put 3") { table.put("k3", "v") }
    attempt("count 3") { counter.increment("n") }
    attempt("reads") { [table.get("k1"), table.get("k2"), table.get("k3")] }
    attempt("flush") { store.flush }
    attempt("sweep") { store.sweep }
    store.close
  RUBY

  # Opened in a thread of its own, from which strace counts anew.
  AGAIN = <<~RUBY
    store = Thread.new { Elah::Store.open(ARGV[0]) }.value
    table = store.table("links")
    attempt("reads") { [table.get("k1"), table.get("k2"), table.get("k3"), store.counter("visits").get("n")] }
    attempt("put 4") { table.put("k4", "v") }
  RUBY

  POISONED = ["put 1 true", "count 1 1", "count 2 2", "put 2 Elah::Store::Failed", "put 3 Elah::Store::Failed",
              "count 3 Elah::Store::Failed", 'reads ["v", nil, nil]', "flush Elah::Store::Failed",
              "sweep Elah::Store::Failed"].freeze
  WHOLE_AGAIN = ['reads ["v", nil, nil, 2]', "put 4 true"].freeze

  def test_a_failed_sync_is_not_acknowledged_and_stops_all_writes
    # strace counts for each thread; the third sync of the writer is put 2's.
    lines, = StoreProcess.trace(FAILING + AGAIN, @dir, trace: "fdatasync", inject: "fdatasync:error=EIO:when=3")
    assert_equal POISONED + WHOLE_AGAIN, lines
  end

  def test_a_failed_write_of_the_commit_is_not_acknowledged_and_stops_all_writes
    calls = StoreProcess.trace(FAILING, "#{@dir}-whole", trace: "pwrite64,write").last
    lines, = StoreProcess.trace(FAILING, @dir, trace: "pwrite64", inject: "pwrite64:error=EIO:when=#{commit_of_put_2(calls)}")
    # LMDB refuses reads too, once it does not know which commit is the last.
    assert_equal POISONED.map { |line| line.sub(/\Areads.*/, "reads Elah::Store::Failed") }, lines
    assert_equal WHOLE_AGAIN, StoreProcess.run(AGAIN, @dir).first
  end

  # Pages that follow one another are written with writev, the commit record with pwrite64. The first put is tried twice, since
  # the store knows of pages that may have become free meanwhile.
  def test_a_disk_without_room_refuses_and_goes_on
    lines, = StoreProcess.trace(<<~RUBY, @dir, trace: "writev", inject: "writev:error=ENOSPC:when=1..3")
      store = Elah::Store.open(ARGV[0])
      table = store.table("links")
      (1..3).each do |n|
        attempt("put \#{n}") { store.transaction { |tx| 40.times { |i| tx.put(table, "k\#{n}-\#{i}", "v" * 1500) } } }
      end
      attempt("sizes") { [table.size, *(1..3).map { |n| table.range(prefix: "k\#{n}").size }] }
    RUBY
    assert_equal ["put 1 Elah::Store::Full", "put 2 Elah::Store::Full", "put 3 40", "sizes [40, 0, 0, 40]"], lines
  end

  def test_no_room_for_the_commit_record_is_a_failure
    StoreProcess.run('Elah::Store.open(ARGV[0]).table("links").put("k0", "v")', @dir)
    lines, = StoreProcess.trace(<<~RUBY, @dir, trace: "pwrite64", inject: "pwrite64:error=ENOSPC:when=1")
      table = Elah::Store.open(ARGV[0]).table("links")
      attempt("put 1") { table.put("k1", "v") }
      attempt("put 2") { table.put("k2", "v") }
    RUBY
    assert_equal ["put 1 Elah::Store::Failed", "put 2 Elah::Store::Failed"], lines
    lines, = StoreProcess.run('attempt("read") { Elah::Store.open(ARGV[0]).table("links").get("k0") }', @dir)
    assert_equal ['read "v"'], lines
  end

  private

  # Which of the writer's calls of pwrite64 it is. The writer's follow the one commit that opening makes.
  def commit_of_put_2(calls)
    by_writer = calls.drop_while { |call| !SYNCED_COMMIT.match?(call) }.drop(1).take_while { |call| !call.include?("put 2") }
    assert_match SYNCED_COMMIT, by_writer.grep(/\Apwrite64/).last
    by_writer.grep(/\Apwrite64/).size
  end
end
