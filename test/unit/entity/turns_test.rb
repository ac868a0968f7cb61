# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# Who gets the turn of an entity when many call it.
class EntityTurnsTest < EntityCase
  class Starter < Elah::Entity
    def begin = (@began = Elah.async { Queue.new.pop }) && nil
    def ended? = @began.done?
  end

  # They ended with the request that called: they changed the entity beside its next calls, in its own worker only.
  def test_the_fibers_that_a_method_has_started_end_with_its_call
    starters = Starter.in(@store)
    Elah.run do
      own = Elah.async { Queue.new.pop }
      starters["1"].begin
      Fiber.scheduler.yield
      assert_predicate starters["1"], :ended?
      refute_predicate own, :done?, "of the caller"
      own.cancel
    end
  end

  # The fiber that had just been given the turn was left behind with it, and the entity was busy for ever.
  def test_an_entity_is_free_when_the_thread_whose_fiber_computes_in_it_was_killed
    begun = Thread::Queue.new
    accounts = accounts("killed") { define_method(:compute) { (begun << true) && loop { nil } } }
    gate = Gate.new
    thread = Thread.new do
      Elah.run do
        Elah.async { accounts["1"].wait(gate) && accounts["1"].balance }
        Elah.async { accounts["1"].compute }
        2.times { Elah.async { accounts["1"].wait(gate) } }
        gate << nil
        Queue.new.pop
      end
    end
    begun.pop
    thread.kill.join
    assert_equal 1, accounts["1"].deposit(1)
    assert_equal 2, Elah.run { accounts["1"].deposit(1) }
  end

  # Who calls again while the turn is on its way to the next in line found that one waiting for the entity that it had
  # just been given, and followed it in a circle for ever.
  def test_who_calls_again_at_once_waits_behind_the_next_in_line
    accounts = accounts("turns")
    Elah.run do
      gate = Gate.new
      order = []
      call = ->(name) { accounts["1"].wait(gate, name).tap { |value| order << value } }
      first = Elah.async { 2.times { |turn| call.call([:first, turn]) } }
      second = Elah.async { call.call([:second, 0]) }
      3.times { gate << nil }
      [first, second].each(&:value)
      assert_equal [[:first, 0], [:second, 0], [:first, 1]], order
    end
  end
end
