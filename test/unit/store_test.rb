# frozen_string_literal: true

# Covers Elah::Store: opening, closing, forks, and what wrong arguments are told.
require "test_helper"
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

  def test_the_time_is_that_of_its_clock_and_does_not_go_back
    assert_equal Time.at(1_000_000), @store.now
    let_pass(1.5)
    assert_equal Time.at(1_000_001.5), @store.now
    Dir.mktmpdir do |folder|
      other = Elah::Store.open(folder)
      assert_in_delta Time.now.to_f, other.now.to_f, 60
      other.close
    end
  end

  def test_bounds_of_a_client_are_refused
    error = assert_raises(ArgumentError) { Elah::Store.open(@dir, connections_max: 4) }
    assert_equal "connections_max: only for the URL of a cluster", error.message
  end
end
