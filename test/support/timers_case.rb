# frozen_string_literal: true

require_relative "entity_case"
require_relative "patience"
require_relative "timed_store"

# A test with entities that have timers, on a store whose clock it moves.
class TimersCase < EntityCase
  include Patience
  include TimedStore

  Timers = Elah::Entity::Timers

  # Tells when its timer has fired.
  class Alarm < Elah::Entity
    entity_name "alarms"

    FIRED = Queue.new
    # What `woken` does besides, by the key of the alarm.
    DOES = {}

    attr_reader :count

    def restore = @count = state.get("count").to_i
    def set(time) = wake_at(time)

    def set_and_fail(time)
      wake_at(time)
      raise "failed"
    end

    def set_and_wait(time, gate)
      wake_at(time)
      gate.pop
    end

    private

    def woken
      state.put("count", (@count += 1).to_s)
      instance_exec(&DOES[key]) if DOES[key]
      FIRED << key
    end
  end

  def setup
    super
    Alarm::FIRED.clear
    Alarm::DOES.clear
    @alarms = Alarm.in(@timed)
  end

  # Lets the other fibers run.
  def turn
    Fiber.scheduler.yield
    true
  end

  # The keys of the next alarms, in their order; waits for them.
  def fired(count = 1) = Array.new(count) { Alarm::FIRED.pop }

  def at(seconds) = START + seconds.rationalize(Rational(1, 10_000))
  def rows = @timed.table("entity-timers:alarms").size

  # Timers that are due now have fired when this one has, which is due last.
  def let_due_ones_fire(now)
    @alarms["last"].set(at(now))
    fired_until("last")
  end

  def fired_until(key)
    keys = []
    keys << Alarm::FIRED.pop until keys.last == key
    keys[0...-1]
  end
end
