# frozen_string_literal: true

# Covers Elah::RankedSet.open: what is written comes back, several writers at once, and writes that fail or are given
# up.
require "test_helper"
require "support/store_case"

class StoredRankedSetTest < StoreCase
  def open(**settings) = Elah::RankedSet.open(@store, "boards", prefix: "daily", **settings)

  def rows(set) = set.each.map(&:to_a)

  def test_a_set_comes_back
    set = open(order: %i[desc asc], decimals: [0, 2])
    set.submit("ann", [5, "1.25"])
    set.submit("bob", [5, "1.25"])
    set.submit("x" * 5000, [4, 0])
    set.submit("", [3, 0])
    assert_equal 3, set.submit("cid", [5, 2]).rank
    set.delete("")
    again = open(order: %i[desc asc], decimals: [0, 2])
    assert_equal rows(set), rows(again)
    assert_equal ["ann", "bob", "cid", "x" * 5000], again.top(9).map(&:member)
    assert_equal 3, again.submit("dan", [5, "1.25"]).rank, "who comes after the restart is later"
    assert_raises(Elah::RankedSet::InvalidRow) { open }
    assert_predicate Elah::RankedSet.open(@store, "boards", prefix: "dail"), :empty?
  end

  def test_its_version_grows
    set = open
    version = set.version
    set.submit("ann", 1)
    assert_operator set.version, :>, version
  end

  def test_writers_at_once_lose_nothing
    set = open
    Array.new(8) do |n|
      Thread.new do
        20.times do |step|
          set.submit("shared", 1, operator: :increment)
          set.submit("own #{n}", step)
        end
      end
    end.each(&:join)
    assert_equal [160, 9], [set.score("shared"), set.size]
    assert_equal rows(set), rows(open)
  end

  # The row was deleted, and the member with it that the String named by then.
  def test_a_name_that_its_caller_changes_meanwhile_is_the_one_that_was_given
    set = open
    Elah.run do
      set.submit("ann", 1)
      name = +"ann"
      deletion = Elah.async { set.delete(name) }
      name.replace("bob")
      assert_equal 1, deletion.value
    end
    assert_equal [[], []], [rows(set), rows(open)]
  end

  # The old score stayed in memory, and the next increment built on it.
  def test_a_change_that_another_thread_ends_before_it_is_in_memory_is_read_again
    set = open
    set.submit("ann", 1)
    interrupted(set, :apply) { set.submit("ann", 10) }
    assert_equal 11, set.submit("ann", 1, operator: :increment).score
    interrupted(set, :delete) { set.delete("ann") }
    assert_equal 2, set.submit("ann", 2, operator: :increment).score
    interrupted(set, :delete) { set.clear }
    assert_equal 3, set.submit("ann", 3, operator: :increment).score
    assert_equal rows(set), rows(open)
  end

  # It was an InvalidScore, and the number was none that the set refuses.
  def test_what_ends_the_conversion_of_a_score_is_raised
    late = Class.new(Numeric) { define_method(:to_r) { raise Timeout::Error, "late" } }.new
    set = open(decimals: 2)
    assert_equal "late", assert_raises(Timeout::Error) { set.submit("ann", late) }.message
    [Float::NAN, Float::INFINITY, Complex(1, 1)].each do |none|
      assert_raises(Elah::RankedSet::InvalidScore) { set.submit("ann", none) }
    end
    assert_empty rows(set)
  end

  # Runs the block with a method of the set in memory that another thread's exception comes before.
  def interrupted(set, name)
    memory = set.instance_variable_get(:@set)
    memory.define_singleton_method(name) { |*| raise Timeout::Error }
    assert_raises(Timeout::Error) { yield }
  ensure
    memory.singleton_class.remove_method(name)
  end

  def test_trim_and_clear
    set = open
    threads = Array.new(10) { |n| Thread.new { 30.times { |i| set.submit("m#{n * 30 + i}", n * 30 + i) } } }
    threads.each(&:join)
    assert_equal 290, set.trim(keep: 10)
    assert_equal [(290..299).to_a.reverse, 0], [set.top(99).map(&:score), set.trim(keep: 10)]
    again = open
    assert_equal rows(set), rows(again)
    again.clear
    assert_equal [0, 0], [again.size, open.size]
  end

  # Each process decided by what it had in memory: of two scores for one member the worse could stay.
  def test_the_process_that_opened_the_set_last_has_it
    first = open
    first.submit("ann", 10)
    second = open
    second.submit("ann", 50)
    [20, 5].each { |score| assert_raises(Elah::Store::OpenedElsewhere) { first.submit("ann", score) } }
    assert_raises(Elah::Store::OpenedElsewhere) { first.delete("ann") }
    assert_raises(Elah::Store::OpenedElsewhere) { first.trim(keep: 0) }
    assert_equal 10, first.score("ann")
    reader, writer = IO.pipe
    Process.wait(fork { second.submit("ann", 60) rescue writer.puts($!.class) && exit!(0) })
    assert_equal "Elah::Store::OpenedElsewhere\n", reader.gets
    assert_equal 50, second.score("ann")
  ensure
    [reader, writer].compact.each(&:close)
  end

  # It waited for the fiber of its parent that wrote the member, and ended with `fatal`.
  def test_a_fork_does_not_wait_for_its_parent
    set = open
    Elah.run do
      under_way = Elah.async { set.submit("ann", 1) }
      child = fork { exit!(assert_raises(Elah::Store::OpenedElsewhere) { set.submit("ann", 2) } && true) }
      assert_predicate Process.wait2(child).last, :success?
      assert_equal 1, under_way.value.score
    end
  end

  # The memory of the former owner lacked the member: a `delete` found nothing, and a `clear` was reported as done.
  def test_a_former_owner_does_not_report_that_there_is_nothing_to_remove
    first = open
    second = open
    second.submit("ann", 50)
    assert_raises(Elah::Store::OpenedElsewhere) { first.delete("ann") }
    assert_raises(Elah::Store::OpenedElsewhere) { first.trim(keep: 0) }
    assert_raises(Elah::Store::OpenedElsewhere) { first.clear }
    assert_nil second.delete("bob")
  end

  def test_an_opening_that_fails_takes_the_set_from_nobody
    set = open
    set.submit("ann", 10)
    assert_raises(Elah::RankedSet::InvalidRow) { open(order: %i[asc asc]) }
    assert_equal 1, set.submit("bob", 20).rank
  end

  def test_what_is_refused_changes_nothing
    set = open(members_max: 1)
    set.submit("ann", 1)
    assert_raises(Elah::RankedSet::Full) { set.submit("bob", 1) }
    assert_raises(Elah::RankedSet::InvalidScore) { set.submit("ann", Float::NAN) }
    assert_raises(Elah::RankedSet::InvalidMember) { set.submit("x" * 10_241, 1) }
    @store.close
    assert_raises(Elah::Store::Closed) { set.submit("ann", 2) }
    assert_raises(Elah::Store::Closed) { set.delete("ann") }
    assert_equal [["ann", 1, 1]], set.top(9).map { |row| [row.member, row.rank, row.score] }
  end

  # Two submissions found room for one, and both were stored. The second raised Full, and the set could not be opened
  # again.
  def test_submissions_at_once_for_the_last_place
    set = open(members_max: 1)
    Elah.run do
      asyncs = %w[ann bob].map { |member| Elah.async { rank_or_refusal(set, member) } }
      assert_includes [[1, 2], [1, :full]], asyncs.map(&:value), "the first one may be stored before the second begins"
    end
    again = open(members_max: 1)
    assert_equal rows(set), rows(again)
    assert_raises(Elah::RankedSet::Full) { again.submit("cid", 1) }
  end

  def rank_or_refusal(set, member)
    set.submit(member, 1).rank
  rescue Elah::RankedSet::Full
    :full
  end

  # A write that was given up may be on disk; the next one for the member asks the disk before it counts on.
  def test_a_write_that_was_given_up_is_looked_up
    set = open
    set.submit("ann", 10)
    transaction = @store.method(:transaction)
    @store.define_singleton_method(:transaction) do |&block|
      transaction.call(&block)
      raise Timeout::Error
    end
    assert_raises(Timeout::Error) { set.submit("ann", 5, operator: :increment) }
    @store.singleton_class.remove_method(:transaction)
    assert_equal 10, set.score("ann"), "memory is never ahead of what is known to be on disk"
    assert_equal 16, set.submit("ann", 1, operator: :increment).score
    assert_equal 16, open.score("ann")
  end

  # The row was read while the write that was given up waited for the disk: a confirmed deletion was undone by it.
  def test_a_deletion_after_a_write_that_was_given_up_stays
    Elah.run do
      set = open
      100.times do |number|
        begin
          Elah.timeout(0.0001) { set.submit("m#{number}", 1) }
        rescue Elah::DeadlineExceeded
          nil
        end
        set.delete("m#{number}")
      end
      assert_equal 0, set.size
    end
    assert_equal 0, open.size
  end

  # A board that shares a transaction with other state writes its rows itself.
  def test_rows_in_a_transaction_of_ones_own
    table = @store.table("boards")
    set = Elah::RankedSet.load(table, prefix: "own")
    decisions = [set.decide("ann", 3), set.decide("bob", 4)]
    @store.transaction { |tx| decisions.each { |decision| tx.put(table, *set.row(decision, prefix: "own")) } }
    decisions.each { |decision| set.apply(decision) }
    assert_equal rows(set), rows(Elah::RankedSet.load(table, prefix: "own"))
    table.delete(Elah::RankedSet.row_key("ann", prefix: "own"))
    set.restore("ann", nil)
    assert_equal rows(set), rows(Elah::RankedSet.load(table, prefix: "own"))
  end

  def test_survives_gc_stress
    set = open
    GC.stress = true
    set.submit("ann", 1)
    loaded = Elah::RankedSet.load(@store.table("boards"), prefix: "daily")
    set.delete("ann")
  ensure
    GC.stress = false
    assert_equal [1, 0], [loaded.size, set.size]
  end
end
