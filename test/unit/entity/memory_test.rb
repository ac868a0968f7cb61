# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# Entities whose answers do not wait for the disk.
class EntityMemoryTest < EntityCase
  def setup
    super
    @accounts = accounts("in memory") { durability :memory }
  end

  def test_what_was_answered_is_on_disk_when_the_loop_has_ended
    Elah.run { assert_equal 3, @accounts["1"].deposit(3) }
    assert_equal [["1 3", "3"]], @accounts.index(:history).range
  end

  def test_a_read_of_the_store_sees_what_is_on_its_way
    Elah.run do
      @accounts["1"].deposit(3)
      assert_equal [["balance", "3"]], @accounts["1"].stored
    end
  end

  # Another fiber was in the middle of the list of all classes: the call raised a RuntimeError, "can't add a new key
  # into hash during iteration".
  def test_a_class_is_first_used_while_a_fork_waits_for_the_disk
    Elah.run do
      @accounts["1"].deposit(3)
      others = accounts("others") { durability :memory }
      others["1"].deposit(3)
      flushes = [Elah.async { Elah::Entity::Collection.flush_all },
                 Elah.async { Elah::Entity::Collection.flush(@store) }]
      assert_equal 4, accounts("fresh")["1"].deposit(4)
      flushes.each(&:value)
    end
  end

  def test_what_lingers_waits_for_others_for_who_reads_it_and_for_the_end
    lingering = accounts("lingering") do
      durability :memory
      linger_seconds 60
    end
    Elah.run do
      3.times { lingering["1"].deposit(1) }
      20.times { Elah.offload { nil } } # the loop turns, and the writer has its chances
      assert_equal 0, lingering.index(:history).size
      @store.table("other").put("a", "b") # a commit that takes along what lingers
      assert_equal 3, lingering.index(:history).size
      lingering["1"].deposit(1)
      assert_equal [["balance", "4"]], lingering["1"].stored
      lingering["1"].deposit(1)
      lingering.flush
      assert_equal 5, lingering.index(:history).size
      lingering["2"].deposit(7)
    end
    assert_equal "7", lingering.index(:history).get("2 7")
  end

  # The call after it waited for writes that had not left the iteration yet, and then lingered.
  def test_a_call_that_fails_after_others_of_its_iteration_makes_none_linger
    lingering = accounts("failing") do
      durability :memory
      linger_seconds 60
    end
    Elah.run do
      lingering["1"].balance
      replies = Elah.timeout(30) { lingering.call_many([["1", :deposit, 1], ["1", :break], ["1", :balance]]) }
      assert_equal [1, RuntimeError, 1], replies.map { |reply| reply.is_a?(Exception) ? reply.class : reply }
    end
  end

  # They stayed those of the opening that was closed.
  def test_a_store_that_is_opened_again_has_its_entities
    assert_equal 5, @accounts["1"].deposit(5)
    @store.close
    @store = open_again
    again = @accounts.entity_class.in(@store)
    assert_equal [10, 1], [again["1"].deposit(5), accounts("others")["1"].deposit(1)]
  end

  def test_a_linger_has_bounds_and_concerns_memory_alone
    assert_equal 0, Class.new(Elah::Entity) { linger_seconds 5 }.linger_seconds
    assert_equal Elah::Entity::LINGER_SECONDS, Class.new(Elah::Entity) { durability :memory }.linger_seconds
    parent = Class.new(Elah::Entity) do
      durability :memory
      linger_seconds 0.5
    end
    assert_equal [0.5, 0.5], [parent, Class.new(parent)].map(&:linger_seconds)
    [-1, 61, "1", Float::NAN].each do |wrong|
      assert_raises(ArgumentError, wrong.inspect) { parent.linger_seconds(wrong) }
    end
  end

  def test_a_graceful_end_stores_everything
    script = <<~RUBY
      require "support/entity_case"
      class InMemory < EntityCase::Account
        entity_name "in memory"
        durability :memory
      end
      accounts = InMemory.in(Elah::Store.open(ARGV.first))
      Elah.run { 1000.times { |n| accounts[n % 10].deposit(1) } }
      exit!(1) unless accounts.instance_variable_get(:@thread)
      exit(0)
    RUBY
    assert system(RbConfig.ruby, "-Ilib", "-Itest", "-rtest_helper", "-e", script, @dir)
    assert_equal [100] * 10, (0...10).map { |n| @accounts[n].balance }
  end

  def test_what_could_not_be_stored_is_reported
    Dir.mktmpdir("elah-full") do |dir|
      store = Elah::Store.open(dir, bytes_max: 1024**2)
      accounts = accounts("lost", store: store) { durability :memory }
      _, log = capture_io do
        Elah.run do
          accounts["1"].deposit(1)
          accounts.flush
          accounts["1"].write("big", "x" * 2_000_000)
          accounts.flush
          assert_equal 1, accounts["1"].balance
          assert_equal ["balance"], accounts["1"].stored.map(&:first)
        end
      end
      assert_match(/The last changes of lost\[1\] are lost because they could not be stored: The store is full/, log)
      store.close
    end
  end

  # Each call was answered at once and then lost, for as long as the store refused writes.
  def test_after_a_loss_calls_wait_for_the_disk_until_it_takes_one
    Dir.mktmpdir("elah-full") do |dir|
      store = Elah::Store.open(dir, bytes_max: 1024**2)
      accounts = accounts("cautious", store: store) do
        durability :memory
        linger_seconds 60
      end
      big = ["1", :write, "big", "x" * 2_000_000]
      _, log = capture_io do
        Elah.run do
          accounts["1"].write(*big.drop(2))
          accounts.flush
          assert_raises(Elah::Store::Full) { accounts["1"].write(*big.drop(2)) }
          assert_instance_of Elah::Store::Full, accounts.call_many([big]).first
          assert_equal 1, accounts["1"].deposit(1)
          assert_equal 1, accounts.index(:history).size
          assert_equal 2, accounts["1"].deposit(1)
          assert_equal 1, accounts.index(:history).size, "which lingers again"
        end
      end
      assert_equal 1, log.scan("are lost").size, log
      store.close
    end
  end

  def test_a_fork_leaves_its_parents_entities_alone
    @accounts["1"].deposit(3)
    child = fork do
      seen = @accounts["1"].deposit(1)
      exit!(seen == 4 ? 0 : 1)
    end
    assert_predicate Process.wait2(child).last, :success?
  end
end
