# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# Reading from an entity without a call.
class EntityAtRestTest < EntityCase
  def test_an_entity_is_at_hand_when_it_is_in_memory_and_nobody_calls_it
    Elah.run do
      assert_nil @accounts.at_rest("1")
      @accounts["1"].deposit(3)
      account = @accounts.at_rest("1")
      assert_equal ["1", 3], [account.key, account.balance]
      gate = Gate.new
      waiting = Elah.async { @accounts["1"].wait(gate) }
      assert_nil @accounts.at_rest("1")
      gate << nil
      waiting.value
      assert_same account, @accounts.at_rest("1")
    end
  end

  # An answer must not tell what a crash could take back.
  def test_what_is_on_its_way_to_the_disk_is_not_read
    Elah.run do
      @accounts["1"].deposit(1)
      deposit = Elah.async { @accounts["1"].deposit(2) }
      assert_nil @accounts.at_rest("1"), "the deposit has run, and is not stored"
      deposit.value
      assert_equal 3, @accounts.at_rest("1").balance
      accounts = accounts("at rest in memory") { durability :memory }
      accounts["1"].deposit(2)
      assert_equal 2, accounts.at_rest("1").balance
    end
  end

  def test_an_entity_that_has_lost_its_memory_is_not_read
    Elah.run do
      @accounts["1"].deposit(1)
      assert_raises(RuntimeError) { @accounts["1"].break }
      assert_nil @accounts.at_rest("1")
      assert_equal 1, @accounts["1"].balance
      assert_equal 1, @accounts.at_rest("1").balance
    end
  end
end
