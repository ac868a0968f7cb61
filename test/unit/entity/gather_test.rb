# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# Calls of entities in `Elah.gather`.
class EntityGatherTest < EntityCase
  def test_deferred_calls_are_made_together
    Elah.run do
      results = Elah.gather do |gather|
        10.times { |n| gather.call(n, @accounts[n].deferred.deposit(n), fallback: nil) }
        gather.call(:poor, @accounts["1"].deferred.withdraw(100), fallback: :overdrawn)
      end
      assert_equal (0..9).to_a << :overdrawn, results.values
      assert_instance_of Account::Poor, results[:poor].error
    end
  end

  def test_a_slow_entity_has_its_fallback_and_keeps_its_turn
    accounts = accounts("gathered") { durability :memory }
    Elah.run do
      gate = Gate.new
      %w[1 2].each { |key| accounts[key].balance } # they are in memory
      results = Elah.gather(deadline: 1) do |gather|
        gather.call(:quick, accounts["1"].deferred.deposit(1), fallback: :late)
        gather.call(:slow, accounts["2"].deferred.wait(gate), fallback: :late)
      end
      assert_equal [1, :late], results.values
      assert_equal 0, accounts["2"].balance, "the call that was given up holds nobody up"
    end
  end

  def test_many_calls_with_a_deadline
    Elah.run do
      gate = Gate.new
      answers = @accounts.call_many([["1", :deposit, 1], ["2", :wait, gate]], deadline: 0.05)
      assert_instance_of Elah::DeadlineExceeded, answers[1]
    end
  end

  def test_a_deferred_call_can_be_made_alone
    assert_equal 3, @accounts["1"].deferred.deposit(3).call
  end
end
