# frozen_string_literal: true

require_relative "../../test_helper"
require "elah"

# The clock of the holds while somebody sets the machine's.
class LeasePoolClockTest < Minitest::Test
  SECOND = 1_000_000
  START = 1_700_000_000 * SECOND

  # A machine whose clocks the test moves.
  Machine = Struct.new(:wall, :since_boot)

  # The clock on that machine.
  class Clock < Elah::LeasePool::Clock
    def initialize(machine, service, boot)
      @machine = machine
      super(service, boot: boot)
    end

    private

    def since_boot = @machine.since_boot
    def wall = @machine.wall
  end

  def setup
    @service = {}
    def @service.get(key) = self[key]
    def @service.put(key, value) = self[key] = value
    @machine = Machine.new(START, 500 * SECOND)
  end

  def clock(boot = "one") = Clock.new(@machine, @service, boot)

  def pass(seconds)
    @machine.wall += seconds * SECOND
    @machine.since_boot += seconds * SECOND
  end

  def test_it_begins_with_the_machines_time_and_goes_on
    clock = clock()
    assert_equal START, clock.now
    pass(10)
    assert_equal START + 10 * SECOND, clock.now
    assert_equal 0.0, clock.offset
  end

  def test_setting_the_machines_clock_moves_nothing_here_or_after_a_restart
    clock = clock()
    @machine.wall += 7200 * SECOND
    pass(1)
    assert_equal START + SECOND, clock.now
    assert_equal 7200.0, clock.offset
    assert_equal START + SECOND, clock().now
  end

  def test_after_the_machine_was_started_anew_its_clock_is_believed
    clock
    @machine.since_boot = 3 * SECOND
    @machine.wall += 86_400 * SECOND
    assert_equal @machine.wall, clock("two").now
  end

  def test_a_machine_without_a_clock_begins_late_enough
    @machine.wall = 0
    assert_equal Elah::LeasePool::Clock::EARLIEST, clock.now
  end
end
