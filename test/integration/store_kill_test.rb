# frozen_string_literal: true

# Kills processes that write to a store: while they work, and while they recover what another left. What was
# acknowledged is there, and counters are exact.
require "test_helper"
require "support/store_process"
require "fileutils"
require "tmpdir"

class StoreKillTest < Minitest::Test
  ROUNDS = 25
  THREADS = 3

  def setup
    @parent = Dir.mktmpdir("elah-store")
    @dir = File.join(@parent, "data")
  end

  def teardown
    FileUtils.remove_entry(@parent)
  end

  def test_what_was_acknowledged_survives_kill_9
    random = Random.new(rand(1 << 32))
    acknowledged = []
    ROUNDS.times { |round| acknowledged.concat(killed(after: random.rand(1..60)) { |say| write_for_ever(round, say) }) }
    assert_everything_is_there(acknowledged, killed: ROUNDS)
  end

  # One thread, so that at each kill at most one increment was made and not told.
  def test_counts_in_memory_are_exact
    random = Random.new(rand(1 << 32))
    told = Array.new(ROUNDS) do
      killed(after: random.rand(1..2000)) do |say|
        visits = Elah::Store.open(@dir, fold_seconds: 0.001).counter("visits", durability: :memory)
        (0..).each { |i| visits.increment("n#{i % 7}") && say.call("counted") }
      end.size
    end
    found = open_store { |store| (0..6).sum { |n| store.counter("visits").get("n#{n}") } }
    assert_includes told.sum..(told.sum + ROUNDS), found
  end

  # strace kills the process that recovers at each of its writes, syncs and removals in turn.
  def test_recovery_itself_can_be_killed
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    acknowledged = killed(after: 60) { |say| write_for_ever(0, say) }
    calls = %w[pwrite64 writev fdatasync unlink]
    ends = calls.product([1, 2]).map do |call, nth|
      kill = "#{call}:signal=KILL:when=#{nth}"
      acknowledged.concat(killed(after: 10) { |say| write_for_ever("#{call}#{nth}", say) })
      StoreProcess.trace('Elah::Store.open(ARGV[0]); say "recovered"', @dir, trace: calls.join(","), inject: kill).first
    end
    assert_operator ends.count([]), :>=, 4, "some were killed before they had recovered"
    assert_everything_is_there(acknowledged, killed: 1 + ends.size)
  end

  # One process once lost each of its 32 attempts: it read while the other's transaction was on its way to the disk,
  # again and again.
  def test_two_processes_write_to_one_store
    children = Array.new(2) { |n| in_child { |say| contend(n, say) } }
    answers = children.map do |pid, output|
      output.read.lines(chomp: true).tap { assert Process.wait2(pid).last.success? }
    end
    won = answers.map { |lines| lines.grep(/\Awon /) }
    assert_equal 100, won.flatten.size
    assert_equal 100, won.flatten.uniq.size, "each key went to one of them"
    open_store do |store|
      assert_equal 200, store.counter("disk").get("n")
      assert_equal 200, store.counter("memory").get("n")
      assert_equal "1000", store.table("sum").get("n")
    end
  end

  def test_each_process_sees_what_the_other_has_stored
    open_store do |store|
      table = store.table("links")
      request, reply = IO.pipe, IO.pipe
      pid, = in_child do
        mine = Elah::Store.open(@dir).table("links")
        while (key = request[0].gets&.chomp)
          mine.put("#{key}-answer", mine.get(key))
          reply[1].puts("done")
        end
      end
      20.times do |i|
        table.put("k#{i}", i.to_s)
        request[1].puts("k#{i}")
        assert_equal "done\n", reply[0].gets
        assert_equal i.to_s, table.get("k#{i}-answer")
      end
      request[1].close
      Process.kill(:KILL, pid)
      Process.wait(pid)
    end
  end

  # A reader that was killed would keep the pages of its moment from being used again, and the file would fill up.
  def test_a_killed_reader_does_not_hold_on_to_pages
    open_store(bytes_max: 1024**2) do |store|
      table = store.table("links")
      table.put("k", "v")
      pid, output = in_child do |say|
        Elah::Store.open(@dir, bytes_max: 1024**2).transaction do |tx|
          tx.get(table, "k")
          say.call("reading")
          IO.pipe.first.read
        end
      end
      assert_equal "reading\n", output.gets
      Process.kill(:KILL, pid)
      Process.wait(pid)
      100.times { |i| store.transaction { |tx| 50.times { |n| tx.put(table, "k#{n}", i.to_s * 500) } } }
      assert_equal "99" * 500, table.get("k49")
    end
  end

  private

  def open_store(**options)
    store = Elah::Store.open(@dir, **options)
    yield store
  ensure
    store&.close
  end

  # Forks, and returns the child's pid and what it says.
  def in_child
    output, input = IO.pipe
    pid = fork do
      output.close
      input.sync = true
      yield ->(line) { input.write("#{line}\n") }
      exit!(0)
    rescue StandardError => e
      warn e.full_message
    ensure
      exit!(1)
    end
    input.close
    [pid, output]
  end

  # Kills the process of the block after so many acknowledgements from the disk; returns those and all others.
  def killed(after:, &block)
    pid, output = in_child(&block)
    lines = []
    while after.positive?
      lines << (output.gets or flunk "The writer ended by itself.")
      after -= 1 unless lines.last.start_with?("memory")
    end
    Process.kill(:KILL, pid)
    (lines + output.readlines).map(&:chomp)
  ensure
    Process.wait(pid)
  end

  def write_for_ever(round, say)
    store = Elah::Store.open(@dir, fold_seconds: 0.001)
    table = store.table("links")
    disk = store.counter("disk")
    memory = store.counter("memory", durability: :memory)
    work = [
      ->(thread, i) { table.put(key = "#{round}-#{thread}-#{i}", key) && say.call("put #{key}") },
      ->(_thread, i) { disk.increment("n#{i % 3}") && say.call("disk n#{i % 3}") },
      lambda do |thread, i|
        store.transaction { |tx| %w[a b].each { |half| tx.put(table, "#{half}#{round}-#{thread}-#{i}", "half") } }
        say.call("both #{round}-#{thread}-#{i}")
      end
    ]
    threads = work.product([*1..THREADS]).map do |job, thread|
      Thread.new do
        (1..).each do |i|
          job.call(thread, i)
          5.times { |n| memory.increment("n#{n}") && say.call("memory n#{n}") }
        end
      end
    end
    threads.each(&:join)
  end

  def assert_everything_is_there(acknowledged, killed:)
    kinds = acknowledged.map(&:split).group_by(&:first)
    open_store do |store|
      table = store.table("links")
      assert_empty(kinds.fetch("put").reject { |_, key| table.get(key) == key })
      kinds.fetch("both", []).each { |_, key| assert_equal %w[half half], [table.get("a#{key}"), table.get("b#{key}")] }
      halves = %w[a b].map { |half| table.each(prefix: half).map { |key, _| key[1..] } }
      assert_equal halves[0], halves[1], "a transaction is stored whole or not at all"
      %w[disk memory].each { |counter| assert_counted(kinds.fetch(counter), store.counter(counter), killed) }
      assert_empty Dir.children(@dir).grep(/journal/), "the journals of the dead are gone"
    end
  end

  # Of what was not acknowledged, each of the 3 * THREADS threads of each killed writer can have counted one.
  def assert_counted(acknowledged, counter, killed)
    acknowledged.group_by { |_, key| key }.each do |key, acks|
      found = counter.get(key)
      assert_includes acks.size..(acks.size + killed * 3 * THREADS), found, "#{counter.name} #{key}"
    end
    total = acknowledged.map { |_, key| key }.uniq.sum { |key| counter.get(key) }
    assert_includes acknowledged.size..(acknowledged.size + killed * 3 * THREADS), total
  end

  def contend(number, say)
    store = Elah::Store.open(@dir)
    table = store.table("links")
    disk = store.counter("disk")
    memory = store.counter("memory", durability: :memory)
    100.times { |i| table.put_new("k#{i}", number.to_s) && say.call("won k#{i}") }
    100.times { disk.increment("n") && memory.increment("n") }
    sum = store.table("sum")
    500.times { store.transaction { |tx| tx.put(sum, "n", (tx.get(sum, "n").to_i + 1).to_s) } }
    store.close
  end
end
