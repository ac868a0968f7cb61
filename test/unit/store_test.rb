# frozen_string_literal: true

# Covers Elah::Store: opening, closing, forks, and what wrong arguments are told.
require "test_helper"
require "support/replaced_method"
require "support/store_case"

module StoreCases
  def test_tables_and_counters_of_one_name_are_apart
    @store.table("same").put("k", "v")
    @store.counter("same").increment("k", by: 3)
    assert_equal ["v", 3, nil], [@store.table("same").get("k"), @store.counter("same").get("k"), @table.get("k")]
  end

  def test_wrong_arguments_name_the_right_ones
    long = assert_raises(Elah::Store::InvalidKey) { @table.put("k" * 481, "") }
    assert_equal "A key of 481 bytes is too long; it may have up to 480.", long.message
    assert_raises(Elah::Store::InvalidKey) { @table.get("") }
    assert_raises(Elah::Store::InvalidKey) { @counter.increment("") }
    assert_raises(Elah::Store::InvalidKey) { @store.table("") }
    assert_equal true, @table.put("k" * 480, "fits", ttl: 1)
    assert_raises(TypeError) { @table.put(:symbol, "") }
    assert_raises(TypeError) { @table.put("a", 1) }
    { "more than 0 and at most 31536000000 seconds, not 0" => -> { @table.put("a", "", ttl: 0) },
      ":disk or :memory, not :ram" => -> { @store.counter("c", durability: :ram) },
      ":disk or :memory, not \"ram\"" => -> { @counter.increment("c", durability: :ram) },
      "max: needs" => -> { @counter.increment("c", max: 1, durability: :memory) } }.each do |words, call|
      assert_includes assert_raises(ArgumentError, &call).message, words
    end
  end

  def test_too_large
    assert_raises(Elah::Store::TooLarge) { @table.put("a", "x" * (64 * 1024**2 + 1)) }
    error = assert_raises(Elah::Store::TooLarge) do
      @store.transaction { |tx| 100_001.times { |number| tx.put(@table, number.to_s, "") } }
    end
    assert_equal "A transaction with 100001 operations is too large; it may have up to 100000.", error.message
    assert_equal 0, @table.size
  end

  def test_closed
    @store.close
    assert_equal true, @store.closed?
    [-> { @table.get("a") }, -> { @table.put("a", "1") }, -> { @counter.increment("a") }, -> { @store.sweep },
     -> { @store.transaction { nil } }].each { |call| assert_raises(Elah::Store::Closed, &call) }
  end

  def test_both_sides_of_a_fork_go_on
    visits = @store.counter("visits", durability: :memory)
    visits.increment("n")
    child = fork do
      visits.increment("n")
      @table.put("child", "1")
      @store.close
      exit!(0)
    end
    assert Process.wait2(child).last.success?
    assert_equal ["1", 2], [@table.get("child"), visits.get("n")]
    assert_equal 3, visits.increment("n")
  end

  def test_a_daemon_goes_on
    @table.put("a", "1")
    output, input = IO.pipe
    Process.wait(fork do
      @table.put("b", "2")
      Process.daemon(true, true)
      @table.put("c", [@table.get("a"), @table.get("b")].join)
      input.write(@table.get("c"))
      exit!(0)
    end)
    input.close
    assert_equal "12", output.read
    assert_equal "12", @table.get("c")
  end

  def test_survives_gc_stress
    GC.stress = true
    @table.put("a", "1")
    assert_equal [%w[a 1]], @table.range
    assert_equal 1, @store.counter("visits", durability: :memory).increment("a")
    @store.transaction { |tx| tx.put(@table, "b", tx.get(@table, "a")) }
  ensure
    GC.stress = false
    assert_equal "1", @table.get("b")
  end
end

StoreCase.on_each_store(StoreCases)

# What a directory has and a database has not.
class StoreFolderTest < StoreCase
  include ReplacedMethod

  def test_a_process_opens_a_directory_once
    again = Elah::Store.open(@dir, bytes_max: 64 * 1024**2)
    again.table("links").put("a", "1")
    @store.close
    assert_equal "1", again.table("links").get("a")
    error = assert_raises(Elah::Store::CannotOpen) { Elah::Store.open(@dir, bytes_max: 1024**3) }
    assert_match(/has it open with a bytes_max of 67108864, not 1073741824/, error.message)
  ensure
    again&.close
  end

  # A server's next image kept the file open, one time more at each restart, and so did every program that it started.
  def test_a_program_has_no_file_of_the_store
    IO.popen("cat", "w") do |program|
      files = Dir["/proc/#{program.pid}/fd/*"].map { |path| File.readlink(path) }
      assert_empty files.grep(/#{Regexp.escape(@dir)}/)
    end
  end

  # A child could never open the store that a transaction of another thread had open, and the parent not before its end.
  def test_a_fork_ends_the_transactions_of_other_threads
    steps, gate = Array.new(2) { Queue.new }
    other = Thread.new { assert_raises(Elah::Store::Closed) { stop_in_transaction(steps, gate) } }
    steps.pop
    assert_predicate Process.wait2(fork { exit!(@table.put("a", "1")) }).last, :success?
    assert_equal "1", @table.get("a")
  ensure
    gate.close
    assert_equal "The transaction is over.", other.value.message
  end

  # While the stores were closed another thread waited; it ran before the fork, with the same effect.
  def test_a_fork_ends_a_transaction_that_begins_at_the_last_moment
    steps, gate = Array.new(2) { Queue.new }
    release = Elah::Store.method(:release_all).unbind
    other = nil
    late = lambda do
      release.bind_call(Elah::Store)
      other ||= Thread.new { assert_raises(Elah::Store::Closed) { stop_in_transaction(steps, gate) } }.tap { steps.pop }
    end
    child = replacing(Elah::Store, :release_all, late) { fork { exit!(@table.put("a", "1")) } }
    assert_predicate Process.wait2(child).last, :success?
  ensure
    gate.close
    assert_kind_of Elah::Store::Closed, other.value
  end

  # It waited for the fiber of its parent whose transaction was tried again, and ended with `fatal`.
  def test_a_fork_does_not_wait_for_a_transaction_that_its_parent_tries_again
    Elah.run do
      gate = Queue.new
      losing = Elah.async { assert_raises(Elah::Store::Closed) { lose_once { gate.pop } } }
      Elah.offload { nil } until gate.num_waiting == 1
      assert_predicate Process.wait2(fork { exit!(lose_once { nil }) }).last, :success?
      gate << true
      losing.value
    end
    assert_equal "late", @table.get("a")
  end

  # A transaction that another write makes fail, and that calls the block in its second attempt.
  def lose_once
    attempts = 0
    @store.transaction do |tx|
      tx.get(@table, "a")
      (attempts += 1) == 1 ? @table.put("a", Process.pid.to_s) : yield
      tx.put(@table, "a", "late")
    end
    true
  end

  def stop_in_transaction(steps, gate)
    @store.transaction do |tx|
      steps << tx.get(@table, "a")
      gate.pop
    end
  end

  # LMDB takes 0 for its own default, of a megabyte.
  def test_a_store_of_no_bytes_is_refused
    error = assert_raises(ArgumentError) { Elah::Store.open(File.join(@dir, "none"), bytes_max: 0) }
    assert_match(/bytes_max: must be an Integer from 1 to/, error.message)
  end

  # As for Ruby's File, the bytes of a path count, whatever encoding its String claims.
  def test_a_path_may_have_any_bytes
    ["caf\u00e9", "caf\xe9", "caf\xe9".b, "caf\u00e9".encode("ISO-8859-1")].each do |name|
      dir = "#{@dir}/".encode(name.encoding) + name
      store = Elah::Store.open(dir)
      assert_equal dir.b, store.dir.b
      store.counter("opened").increment("n")
      store.close
      assert_path_exists File.join(dir, "data.mdb")
      assert_operator Elah::Store.check(dir)[:entries], :>, 0
      assert_equal ["opened"], Elah::Store.stats(dir)[:counters].keys
    end
    assert_equal 2, (Dir.children(@dir) - %w[data.mdb lock.mdb]).size
    assert_raises(EncodingError) { Elah::Store.open("caf\u00e9".encode("UTF-16LE")) }
    assert_raises(ArgumentError) { Elah::Store.open("#{@dir}/a\0b") }
  end

  def test_more_tables_than_the_file_has_room_for
    names = Array.new(1024) { |i| @store.table("t#{i}") }
    @store.transaction { |tx| names.each { |table| tx.put(table, "a", "") } }
    assert_raises(Elah::Store::TooLarge) { @store.table("one more").put("a", "") }
    assert_equal "", @store.table("t1023").get("a")
  end

  # After a database's clock was ahead for a moment, the time stood still until it had passed that: timers and holds
  # waited, ten minutes for instance, in each process that had seen it.
  def test_the_time_goes_back_only_with_a_clock_that_is_set_back_by_more_than_a_minute
    last = nil
    seen = [600_000, 540_000, 599_000, 539_999, 540_001].map { |now_ms| last = Elah::Store.following(last, now_ms) }
    assert_equal [600_000, 600_000, 600_000, 539_999, 540_001], seen
  end

  def test_the_time_is_that_of_its_clock
    assert_equal Time.at(1_000_000), @store.now
    let_pass(1.5)
    assert_equal Time.at(1_000_001.5), @store.now
    Dir.mktmpdir do |folder|
      other = Elah::Store.open(folder)
      assert_in_delta Time.now.to_f, other.now.to_f, 60
      other.close
    end
  end

  # It was a folder in the working directory.
  def test_a_url_of_a_database_with_a_slash_too_few_is_refused
    Dir.chdir(@dir) do
      %w[postgres:/app:secret@db1/shop postgresql:app:secret@db1].each do |url|
        refute_match(/secret/, assert_raises(Elah::OptionError) { Elah::Store.open(url) }.message)
      end
      assert_empty Dir.glob("postgres*")
    end
  end

  # The message had the URL, with its password.
  def test_a_database_has_no_file_to_check
    refusal = "This needs the folder of a store: for a cluster's database use the tools of PostgreSQL."
    %i[check stats compact].each do |action|
      error = assert_raises(Elah::Store::CannotOpen) { Elah::Store.send(action, "postgres://app:secret@db1/shop") }
      assert_equal refusal, error.message
    end
  end

  def test_bounds_of_a_client_are_refused
    error = assert_raises(ArgumentError) { Elah::Store.open(@dir, connections_max: 4) }
    assert_equal "connections_max: only for the URL of a cluster", error.message
  end
end
