# frozen_string_literal: true

require "test_helper"
require "support/entity_case"
require "support/file_placement"

# Owners in processes of their own, on one store: one that was replaced while it was paused stores nothing, and what was
# answered outlives each of them.
class EntityOwnersTest < EntityCase
  WORKER = File.expand_path("../support/entity_worker.rb", __dir__)

  # One owner.
  class Owner
    attr_reader :pid

    def initialize(*arguments)
      output, child_output = IO.pipe
      child_input, @input = IO.pipe
      @pid = Process.spawn(RbConfig.ruby, "-Ilib", "-Itest", WORKER, *arguments.map(&:to_s), in: child_input,
                                                                                             out: child_output)
      [child_input, child_output].each(&:close)
      @output = output
      @output.gets == "= :ready\n" or raise "The owner did not start."
    end

    def ask(*words) = @input.puts("call #{words.join(' ')}")

    def answer = @output.gets&.chomp

    def call(*words)
      ask(*words)
      answer
    end

    def pause
      Process.kill(:STOP, @pid)
      Process.waitpid(@pid, Process::WUNTRACED)
    end

    def continue = Process.kill(:CONT, @pid)

    def kill
      Process.kill(:KILL, @pid)
      Process.wait(@pid)
    end

    def stop
      @input.close
      Process.wait(@pid)
    rescue Errno::ECHILD
      nil # it was killed
    end
  end

  def setup
    super
    @board = File.join(@dir, "placement")
    @owners = []
  end

  def teardown
    @owners.each(&:stop)
    super
  end

  def place(owner, version, *generations)
    FilePlacement.write(@board, version: version, owner: owner, generations: generations)
  end

  def start(slot, generation, durability: :disk)
    Owner.new(@dir, @board, slot, generation, durability).tap { |owner| @owners << owner }
  end

  # What is on disk, as keys and values.
  def rows = @store.table("entity:shared").range.to_h { |key, value| [key[3..], value] }

  def history = @store.table("entity:shared:history").range.map(&:first)

  def test_an_owner_that_was_paused_and_replaced_stores_nothing_when_it_goes_on
    place(0, 1, 1, 1)
    old = start(0, 1)
    assert_equal "= 10", old.call("42", "deposit", 10)
    old.pause
    place(1, 2, 1, 1)
    new = start(1, 1)
    assert_equal "= 15", new.call("42", "deposit", 5)
    before = [rows, history]

    old.ask("42", "deposit", 1_000_000)
    old.continue
    assert_equal "= 1000015", old.answer, "it was made again at the new owner, on what that had stored"
    assert_equal before[1] + ["42 1000015"], history.sort_by(&:size)
    assert_equal "= 1000016", new.call("42", "deposit", 1)
  end

  def test_a_call_that_was_paused_half_way_is_fenced_by_the_store
    place(0, 1, 1, 1)
    old = start(0, 1)
    assert_equal "= 10", old.call("42", "deposit", 10)
    File.mkfifo(pipe = File.join(@dir, "pipe"))
    old.ask("42", "deposit_after", pipe, 1_000_000)
    writer = File.open(pipe, "w") # which waits for the method to read
    old.pause
    place(1, 2, 1, 1)
    new = start(1, 1)
    assert_equal "= 15", new.call("42", "deposit", 5)
    File.delete(pipe)
    File.write(pipe, "") # for the new owner, which gets the call again and finds nothing to wait for
    writer.close
    old.continue
    assert_equal "= 1000015", old.answer
    assert_equal ["42 10", "42 15", "42 1000015"], history.sort_by(&:size),
                 "what the paused one had made of its 10 is not there"
  end

  def test_a_late_write_stores_nothing_when_the_new_owner_cannot_be_asked
    place(0, 1, 1, 1)
    old = start(0, 1)
    assert_equal "= 10", old.call("42", "deposit", 10)
    old.pause
    place(1, 2, 1, 1)
    new = start(1, 1)
    assert_equal "= 15", new.call("42", "deposit", 5)
    before = [rows, history]
    new.kill
    old.ask("42", "deposit", 1_000_000)
    old.continue
    assert_match(/\A! Elah::Entity::Moving/, old.answer)
    assert_equal before, [rows, history]
  end

  # The board does not help here: the old owner looks at it before it is paused, and only the store can tell.
  def test_the_store_itself_keeps_an_owner_out_that_knows_nothing_of_its_successor
    place(0, 1, 1, 1)
    old = start(0, 1)
    queue = Queue.new
    assert_equal "= 10", old.call("42", "deposit", 10)
    claim = @store.table("entity:shared")
    native = Elah::Shards::Commits.open([claim, @store.table("entity:shared:history")], 0.0)
    shard = Elah::Shards.of("42", FilePlacement::SHARDS)
    epoch = native.claim([shard], FilePlacement::SHARDS, 99).first.epoch
    assert_equal 2, epoch, queue.size.to_s
    # It meets the fence, claims the shard anew as the board lets it, and starts from what is stored.
    assert_equal "= 11", old.call("42", "deposit", 1)
    assert_equal ["42 10", "42 11"], history
    assert_equal 4, native.claim([shard], FilePlacement::SHARDS, 99).first.epoch
  end

  def test_what_was_answered_is_there_after_the_owner_was_killed
    place(0, 1, 1)
    old = start(0, 1)
    balances = (1..20).map { |n| old.call(n % 3, "deposit", n) }
    old.kill
    place(0, 2, 2)
    new = start(0, 2)
    last = (0..2).map { |key| balances.select.with_index(1) { |_, n| n % 3 == key }.last }
    assert_equal last, (0..2).map { |key| new.call(key, "balance") }
  end

  # What was answered in memory may be lost with the process: always the last of it, never something in between.
  def test_what_was_answered_in_memory_is_lost_from_the_end
    place(0, 1, 1)
    old = start(0, 1, durability: :memory)
    answered = Integer((1..300).map { old.call("42", "deposit", 1) }.last[/\d+/])
    old.kill
    place(0, 2, 2)
    left = Integer(start(0, 2).call("42", "balance")[/\d+/])
    assert_includes 0..answered, left
    assert_equal((1..left).map { |n| "42 #{n}" }, history.sort_by { |row| row[/\d+\z/].to_i })
  end

  def test_a_process_that_the_board_has_replaced_claims_nothing
    place(0, 1, 2)
    old = start(0, 1) # slot 0 is at its second generation
    assert_match(/\A! Elah::Entity::Moving/, old.call("42", "deposit", 1))
    assert_empty rows
    place(0, 2, 1)
    assert_equal "= 1", old.call("42", "deposit", 1)
  end

  def test_a_store_that_was_divided_otherwise_is_refused
    place(0, 1, 1)
    start(0, 1).call("42", "deposit", 1)
    error = assert_raises(Elah::Store::OtherShards) { accounts("shared")["42"].balance }
    assert_match(/16 shards for good, and cannot be used with 256/, error.message)
  end
end
