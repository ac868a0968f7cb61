# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# How much waits, how much stays in memory, and a store without room.
class EntityBoundsTest < EntityCase
  # A name that an app took from a request could be that of a private method, such as `system`.
  def test_only_public_methods_of_the_class_are_called
    %i[system state restore instance_eval].each do |name|
      assert_raises(NoMethodError) { @accounts.call("1", name, ["true"]) }
      assert_kind_of NoMethodError, @accounts.call_many([["1", name, "true"]]).first
    end
    assert_equal 1, @accounts.call("1", :deposit, [1])
    # The exception was fatal.
    ["1", nil, {}].each { |wrong| assert_raises(TypeError) { @accounts.call("1", :deposit, wrong) } }
  end

  # The method behind `once` once took any name, and could be named itself.
  def test_only_public_methods_of_the_class_are_called_by_the_method_behind_once
    marker = File.join(@dir, "marker")
    [:__once__, :__wake__, :__postpone__, "__once__"].each do |name|
      assert_raises(NoMethodError) { @accounts.call("1", name, ["key", 60, :system, "touch #{marker}"]) }
      calls = [["1", name, "key", 60, :system, "touch #{marker}"]]
      assert_kind_of NoMethodError, @accounts.call_many(calls).first
      Elah.run do
        assert_kind_of NoMethodError, @accounts.call_many(calls, deadline: 60).first
        gathered = Elah.gather { |gather| gather.call(:one, @accounts.defer("1", name, calls.first.drop(2))) }
        assert_kind_of NoMethodError, gathered[:one].error
      end
    end
    refute_path_exists marker
    assert_equal [1, 1], Array.new(2) { @accounts["1"].once("key").deposit(1) }
  end

  def test_a_line_that_is_too_long_is_refused
    accounts = with_config(entity_queue_max: 2) { accounts("short line") }
    Elah.run do
      gate = Gate.new
      waiting = Array.new(3) { Elah.async { accounts["1"].wait(gate) } }
      error = assert_raises(Elah::Overloaded) { accounts["1"].balance }
      assert_match(/2 calls wait/, error.message)
      3.times { gate << nil }
      waiting.each(&:value)
      assert_equal 0, accounts["1"].balance
    end
  end

  def test_the_entities_in_memory_are_bounded_and_come_back
    accounts = with_config(entities_max: 10) { accounts("few") }
    Elah.run do
      100.times { |n| accounts[n].deposit(n) }
      assert_equal 10, accounts.size
      100.times { |n| assert_equal n, accounts[n].balance }
      assert_equal 10, accounts.size
    end
  end

  def test_busy_entities_stay_and_too_many_of_them_are_refused
    accounts = with_config(entities_max: 2) { accounts("busy") }
    Elah.run do
      gate = Gate.new
      waiting = %w[1 2].map { |key| Elah.async { accounts[key].wait(gate) } }
      assert_match(/busy/, assert_raises(Elah::Overloaded) { accounts["3"].balance }.message)
      2.times { gate << nil }
      waiting.each(&:value)
      assert_equal 0, accounts["3"].balance
    end
  end

  def test_an_entity_that_was_called_meanwhile_stays
    accounts = with_config(entities_max: 3) { accounts("recent") { def lives = self.class::LIVES[key] } }
    Elah.run do
      %w[1 2 3].each { |key| accounts[key].deposit(1) }
      accounts["4"].deposit(1) # looks at all three, and one goes
      accounts["2"].deposit(1)
      accounts["5"].deposit(1)
      assert_equal 1, accounts["2"].lives, "the one that was called last is still in memory"
      assert_operator accounts["1"].lives + accounts["3"].lives, :>, 2, "another one went"
    end
  end

  def test_a_full_store_refuses_and_takes_calls_again_when_there_is_room
    Dir.mktmpdir("elah-full") do |dir|
      store = Elah::Store.open(dir, bytes_max: 1024**2)
      accounts = accounts("full", store: store)
      Elah.run do
        accounts["1"].write("a", "x")
        assert_raises(Elah::Store::Full) { 100.times { |n| accounts["2"].write("fill#{n}", "x" * 20_000) } }
        filled = accounts["2"].stored.map(&:first)
        assert_raises(Elah::Store::Full) { accounts["2"].write("more", "x" * 200_000) }
        assert_equal filled, accounts["2"].stored.map(&:first), "what was refused left nothing"
        filled.each { |key| accounts["2"].write(key, nil) }
        accounts["1"].write("a", "y")
        assert_equal [%w[a y]], accounts["1"].stored
      end
      store.close
    end
  end

  def test_calls_that_build_on_what_was_not_stored_fail_with_it
    Dir.mktmpdir("elah-full") do |dir|
      store = Elah::Store.open(dir, bytes_max: 1024**2)
      accounts = accounts("built on", store: store)
      Elah.run do
        accounts["1"].deposit(1)
        calls = [["1", :write, "big", "x" * 2_000_000], ["1", :deposit, 10]]
        outcomes = calls.map { |call| Elah.async { one(accounts.call_many([call]).first) } }
                        .map { |call| call.wait.error }
        assert_equal [Elah::Store::Full] * 2, outcomes.map(&:class)
        assert_equal 1, accounts["1"].balance
        assert_equal 3, accounts["1"].deposit(2)
      end
      store.close
    end
  end

  # It was raised before the write was stored, and told of a balance that never was.
  def test_a_refusal_that_builds_on_what_was_not_stored_fails_with_it
    Dir.mktmpdir("elah-full") do |dir|
      store = Elah::Store.open(dir, bytes_max: 1024**2)
      accounts = accounts("refused", store: store) do
        def withdraw_too_much(amount)
          state.put("big", "x" * 2_000_000)
          withdraw(amount)
        end
      end
      Elah.run do
        accounts["1"].deposit(10)
        calls = [-> { accounts["1"].withdraw_too_much(10) }, -> { accounts["1"].withdraw(5) },
                 -> { one(accounts.call_many([["1", :withdraw, 5]]).first) }]
        outcomes = calls.map { |call| Elah.async(&call) }.map { |call| call.wait.error }
        assert_equal [Elah::Store::Full] * 3, outcomes.map(&:class)
        assert_equal 5, accounts["1"].withdraw(5)
        assert_raises(Account::Poor) { accounts["1"].withdraw(6) }
      end
      store.close
    end
  end

  # The write was refused while the method of the reader waited, which then returned what was stored nowhere.
  def test_a_reader_that_waits_in_its_method_fails_with_the_write_that_it_has_seen
    Dir.mktmpdir("elah-full") do |dir|
      store = Elah::Store.open(dir, bytes_max: 1024**2)
      accounts = accounts("seen", store: store) do
        def deposit_too_much
          state.put("big", "x" * 2_000_000)
          deposit(1)
        end

        def balance_after(gate)
          gate.pop
          balance
        end
      end
      Elah.run do
        gate = Gate.new
        assert_equal 0, accounts["1"].balance # both begin before anything is stored
        write = Elah.async { accounts["1"].deposit_too_much }
        read = Elah.async { accounts["1"].balance_after(gate) }
        assert_instance_of Elah::Store::Full, write.wait.error
        gate << nil
        assert_instance_of Elah::Store::Full, read.wait.error
        assert_equal 0, accounts["1"].balance
      end
      store.close
    end
  end
end
