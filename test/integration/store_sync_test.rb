# frozen_string_literal: true

# Shows with strace what kill -9 cannot: each acknowledged write was synced before, and a sync that failed acknowledges
# nothing.
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
    assert calls.grep(/openat.*data\.mdb", O_WRONLY\|O_DSYNC/).any?,
           "the commit record goes through a synchronous descriptor"
    steps = calls.drop_while { |call| !call.include?("opened") }.slice_after(/acknowledged/)
                 .select { |step| step.last.include?("acknowledged") }
    assert_equal 12, steps.size
    steps.each do |step|
      data = step.index { |call| SYNCED_DATA.match?(call) }
      commit = step.index { |call| SYNCED_COMMIT.match?(call) }
      assert data && commit && data < commit,
             "#{step.last} did not follow a sync of the data and of the commit:\n#{step.join("\n")}"
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
    assert_operator syncs, :<, 320, "640 writes of 32 threads took #{syncs} syncs"
  end

  PREPARED = <<~RUBY
    store = Elah::Store.open(ARGV[0])
    store.table("links").put("k0", "v")
    store.counter("visits", durability: :memory).increment("others")
    store.close
  RUBY

  STEPS = ["put 1 true", "count 1 1", "count 2 2", "put 2 true", "put 3 true", "count 3 3", "flush nil",
           "sweep 0"].freeze

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
    attempt("flush") { store.flush }
    attempt("sweep") { store.sweep }
    attempt("state") { [1, 2, 3].map { |n| table.get("k\#{n}") } }
    store.close
  RUBY

  AGAIN = <<~RUBY
    store = Elah::Store.open(ARGV[0])
    table = store.table("links")
    attempt("state") { [1, 2, 3].map { |n| table.get("k\#{n}") } }
    attempt("count") { store.counter("visits").get("n") }
    attempt("put 4") { table.put("k4", "v") }
  RUBY

  def test_a_failed_sync_is_not_acknowledged_and_stops_all_writes
    failed = fail_each("fdatasync") { |acknowledged, state| assert_equal stored(acknowledged), state }
    assert_includes failed, "put 1"
    assert_includes failed, "put 2"
  end

  def test_a_failed_write_is_not_acknowledged_and_stops_all_writes
    unreadable = []
    failed = fail_each("pwrite64") do |acknowledged, state|
      # LMDB refuses reads too, once it does not know which commit is the last.
      state == "state Elah::Store::Failed" ? unreadable << state : assert_equal(stored(acknowledged), state)
    end
    assert_includes failed, "put 1"
    assert_includes failed, "put 2"
    refute_empty unreadable, "the commit record was never what failed"
  end

  # Pages that follow one another are written with writev, the commit record with pwrite64. The first put is tried
  # twice, since the store knows of pages that may have become free meanwhile.
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

  # Of pages that lie alone, and of the commit record after them: which call is the record's depends on the pages that
  # are free.
  def test_no_room_for_the_commit_record_is_a_failure
    StoreProcess.run('Elah::Store.open(ARGV[0]).table("links").put("k0", "v")', @dir)
    refused = ["put 1 Elah::Store::Full", "put 2 true"]
    failed = ["put 1 Elah::Store::Failed", "put 2 Elah::Store::Failed"]
    outcomes = (1..8).lazy.map { |nth| puts_without_room(nth) }.take_while { |lines| lines.first != "put 1 true" }.to_a
    assert_includes outcomes, failed
    assert_empty outcomes - [refused, failed]
  end

  private

  # Two puts of a process that has no room for its nth write of a page or record.
  def puts_without_room(nth)
    dir = "#{@dir}-#{nth}"
    FileUtils.cp_r(@dir, dir)
    lines, = StoreProcess.trace(<<~RUBY, dir, trace: "pwrite64", inject: "pwrite64:error=ENOSPC:when=#{nth}")
      table = Elah::Store.open(ARGV[0]).table("links")
      attempt("put 1") { table.put("k1", "v") }
      attempt("put 2") { table.put("k2", "v") }
    RUBY
    read, = StoreProcess.run('attempt("read") { Elah::Store.open(ARGV[0]).table("links").get("k0") }', dir)
    assert_equal ['read "v"'], read
    lines
  end

  # Which of the writer's calls a write makes depends on the pages that are free at that moment, so each call fails
  # once, in a run of its own, until there is none left to fail.
  #
  # @yieldparam acknowledged [Array<String>] the steps before the failure
  # @yieldparam state [String] what the process could read afterwards
  # @return [Array<String>] the steps that failed first
  def fail_each(call)
    StoreProcess.run(PREPARED, @dir)
    (1..50).each_with_object([]) do |nth, failed|
      dir = "#{@dir}-#{nth}"
      FileUtils.cp_r(@dir, dir)
      lines, = StoreProcess.trace(FAILING, dir, trace: call, inject: "#{call}:error=EIO:when=#{nth}")
      steps, state = lines.first(STEPS.size), lines.last
      acknowledged = steps.take_while { |step| !step.end_with?("Failed") }
      assert_equal STEPS.first(acknowledged.size), acknowledged
      return failed if acknowledged.size == STEPS.size

      assert_equal STEPS.drop(acknowledged.size).map { |step| step.sub(/ \S+\z/, " Elah::Store::Failed") },
                   steps.drop(acknowledged.size)
      yield acknowledged, state
      failed << steps[acknowledged.size].delete_suffix(" Elah::Store::Failed")
      counted = acknowledged.grep(/count/).size
      assert_equal [stored(acknowledged), "count #{counted}", "put 4 true"], StoreProcess.run(AGAIN, dir).first
    end
    flunk "After 50 runs there was still a call of #{call} to fail."
  end

  def stored(acknowledged)
    "state #{[1, 2, 3].map { |n| 'v' if acknowledged.include?("put #{n} true") }.inspect}"
  end
end
