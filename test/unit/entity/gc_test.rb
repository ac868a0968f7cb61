# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# Entities while Ruby collects garbage at every chance: no native object holds what is freed.
class EntityGCTest < EntityCase
  def test_calls_under_stress
    Elah.run do
      exercise("1") # all is loaded
      GC.stress = true
      exercise("2")
    ensure
      GC.stress = false
    end
    assert_equal 3, @accounts["2"].balance
  end

  def exercise(key)
    @accounts[key].deposit(1)
    @accounts.call_many([[key, :deposit, 1], ["other", :balance]])
    @accounts.call_many(["other", key, "other", key].map { |each| [each, :deposit, 0] })
    @accounts[key].stored
    Elah.gather { |gather| gather.call(:a, @accounts[key].deferred.deposit(1)) }.values
  end

  def test_objects_move
    GC.compact if GC.respond_to?(:compact)
    Elah.run do
      100.times { |n| @accounts[n % 7].deposit(1) }
      GC.compact if GC.respond_to?(:compact)
      assert_equal 100, (0..6).sum { |key| @accounts[key].balance }
    end
  end
end
