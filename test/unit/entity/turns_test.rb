# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# Who gets the turn of an entity when many call it.
class EntityTurnsTest < EntityCase
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
