# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../clock"

# The clock of the holds while somebody sets the machine's.
class ClockTest < Minitest::Test
  SECOND = 1_000_000
  START = 1_700_000_000 * SECOND

  def setup
    @service = {}
    def @service.get(key) = self[key]
    def @service.put(key, value) = self[key] = value
    @wall = START
    @since_boot = 500 * SECOND
  end

  def clock(boot = "one") = RingPools::Clock.new(@service, boot: boot, since_boot: -> { @since_boot }, wall: -> { @wall })

  def pass(seconds)
    @wall += seconds * SECOND
    @since_boot += seconds * SECOND
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
    @wall += 7200 * SECOND
    pass(1)
    assert_equal START + SECOND, clock.now
    assert_equal 7200.0, clock.offset
    assert_equal START + SECOND, clock().now
  end

  def test_after_the_machine_was_started_anew_its_clock_is_believed
    clock
    @since_boot = 3 * SECOND
    @wall += 86_400 * SECOND
    assert_equal @wall, clock("two").now
  end

  def test_a_machine_without_a_clock_begins_late_enough
    @wall = 0
    assert_equal RingPools::Clock::EARLIEST, clock.now
  end
end
