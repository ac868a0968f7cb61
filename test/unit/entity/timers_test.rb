# frozen_string_literal: true

require "test_helper"
require "support/timers_case"

# Timers of entities: when they fire, and what is stored with them.
class EntityTimersTest < TimersCase
  # Has no method for its timer.
  class Silent < Elah::Entity
    def set(time) = wake_at(time)
  end

  def test_a_timer_fires_at_its_time_and_not_before
    Elah.run do
      @alarms["1"].set(at(10))
      @alarms["2"].set(at(5))
      @clock.advance(9.999)
      assert_equal ["2"], let_due_ones_fire(9.999)
      @clock.advance(0.001)
      assert_equal ["1"], fired
      assert_equal 1, @alarms["1"].count
    end
  end

  def test_a_time_in_the_past_fires_at_once
    Elah.run do
      @alarms["1"].set(at(-1000))
      assert_equal ["1"], fired
    end
  end

  def test_a_fraction_of_a_millisecond_is_not_too_early
    assert_equal 1001, Elah::Entity::Timer.milliseconds(Time.at(1, 1, :nsec), @timed)
    assert_equal 1000, Elah::Entity::Timer.milliseconds(Time.at(1), @timed)
  end

  def test_a_timer_is_replaced_or_removed
    Elah.run do
      [@alarms["1"], @alarms["2"]].each { |alarm| alarm.set(at(1)) }
      @alarms["1"].set(nil)
      @alarms["2"].set(at(3))
      @clock.advance(2)
      assert_empty let_due_ones_fire(2)
      @clock.advance(2)
      assert_equal ["2"], fired
      assert_empty let_due_ones_fire(4)
    end
  end

  def test_a_timer_is_stored_with_the_call_that_sets_it
    assert_raises(RuntimeError) { @alarms["1"].set_and_fail(at(1)) }
    assert_equal 0, rows
    @alarms["1"].set(at(1))
    assert_equal 2, rows
    assert_raises(RuntimeError) { @alarms["1"].set_and_fail(nil) }
    assert_equal 2, rows
  end

  def test_a_timer_that_has_fired_is_removed_with_the_changes_of_its_call
    Elah.run do
      @alarms["1"].set(at(0))
      fired
      assert_equal 1, @alarms["1"].count
      assert_equal 0, rows
    end
  end

  def test_a_timer_outlives_the_process
    @alarms["1"].set(at(1))
    @alarms.reset
    @clock.advance(2)
    Elah.run do
      @alarms["2"].count # the loop learns of these entities
      assert_equal ["1"], fired
    end
  end

  def test_an_entity_that_is_not_in_memory_is_restored_to_fire
    Elah.config = Elah::Config.build(entities_max: 2)
    alarms = Class.new(Alarm) { entity_name "few" }.in(@timed)
    Elah.run do
      alarms["1"].set(at(1))
      4.times { |n| alarms["other#{n}"].count }
      refute_includes alarms.activations, "1"
      @clock.advance(1)
      assert_equal ["1"], fired
    end
  ensure
    Elah.config = nil
  end

  def test_a_call_of_the_timer_sets_it_again
    Alarm::DOES["1"] = -> { wake_at(Time.at(0)) if @count < 3 }
    Alarm::DOES["2"] = -> { wake_at(START + (@count * 10)) }
    Elah.run do
      @alarms["1"].set(at(0))
      assert_equal %w[1 1 1], fired(3)
      @alarms["2"].set(at(0))
      assert_equal ["2"], fired
      2.times { @clock.advance(10) && assert_equal(["2"], fired) }
    end
  end

  def test_a_timer_waits_for_the_call_that_sets_it
    Elah.run do
      gate = Gate.new
      call = Elah.async { @alarms["1"].set_and_wait(at(0), gate) }
      assert_empty let_due_ones_fire(0)
      gate << nil
      call.value
      assert_equal ["1"], fired
    end
  end

  # A call that gave up meanwhile announced the timer before it was stored: it was found by nobody, and forgotten.
  def test_a_call_that_gives_up_its_turn_leaves_the_timers_of_the_one_that_runs_alone
    Elah.run do
      assert_empty let_due_ones_fire(0), "all shards were read"
      gate = Gate.new
      call = Elah.async { @alarms["1"].set_and_wait(at(0), gate) }
      assert_empty let_due_ones_fire(0)
      assert_raises(Elah::DeadlineExceeded) { Elah.timeout(0.01) { @alarms["1"].count } }
      assert_empty let_due_ones_fire(0)
      gate << nil
      call.value
      assert_equal ["1"], Elah.timeout(30) { fired }
    end
  end

  def test_a_class_without_a_method_for_its_timer_has_none
    error = assert_raises(ArgumentError) { Silent.in(@timed)["1"].set(at(1)) }
    assert_match(/Silent needs a method woken/, error.message)
  end

  def test_a_time_is_checked
    [1, "12:00", Time.at(-1), START + Elah::Store::TTL_SECONDS_MAX + 1].each do |time|
      assert_match(/wake_at needs a [Tt]ime/, assert_raises(ArgumentError) { @alarms["1"].set(time) }.message)
    end
  end

  %i[disk memory].each do |choice|
    define_method(:"test_thousands_at_the_same_second_with_durability_#{choice}") do
      alarms = Class.new(Alarm) do
        entity_name "many in #{choice}"
        durability choice
      end.in(@timed)
      Elah.run do
        alarms.call_many(Array.new(2000) { |n| [n.to_s, :set, at(1)] }).each { |reply| assert_nil reply }
        @clock.advance(1)
        assert_equal Array.new(2000, &:to_s).sort, fired(2000).sort
        assert_equal [1] * 2000, alarms.call_many(Array.new(2000) { |n| [n.to_s, :count] })
      end
    end
  end

  # Timers that are set, moved and removed at random fire at the times that a Hash has, and at no other.
  %i[disk memory].each do |choice|
    define_method(:"test_random_changes_with_durability_#{choice}") do
      random = Random.new(seed = Random.new_seed)
      alarms = Class.new(Alarm) do
        entity_name "random in #{choice}"
        durability choice
      end.in(@timed)
      times = {}
      Elah.run do
        300.times do |step|
          (step % 30).zero? ? @clock.advance(random.rand(1..6)) : change_at_random(random, alarms, times)
          due = times.keys.select { |key| times[key] <= @timed.now }
          due.each { |key| times.delete(key) }
          assert_equal due.sort, fired(due.size).sort, "step #{step} of seed #{seed}"
        end
        assert_empty Alarm::FIRED, "seed #{seed}"
        40.times { |key| alarms[key].count } # when the calls of timers have ended
        alarms.flush
        assert_equal 2 * times.size, @timed.table("entity-timers:#{alarms.name}").range.size
      end
    end
  end

  def change_at_random(random, alarms, times)
    key = random.rand(40).to_s
    return alarms[key].set(times.delete(key) && nil) if random.rand(4).zero?

    alarms[key].set(times[key] = @timed.now + random.rand(20))
  end

  def test_calls_of_timers_are_bounded_and_do_not_wait_for_each_other
    gate = Queue.new
    begun = Queue.new
    100.times { |n| Alarm::DOES[n.to_s] = -> { begun << key && gate.pop } }
    Elah.run do
      @alarms.call_many(Array.new(100) { |n| [n.to_s, :set, at(0)] })
      Array.new(Timers::RUNNING_MAX) { begun.pop }
      assert_empty begun
      100.times { gate << nil }
      assert_equal 100, fired(100).uniq.size
    end
  end

  def test_a_timer_of_an_entity_that_is_called_at_the_same_time_loses_nothing
    Elah.run do
      20.times do |n|
        @alarms["1"].set(@timed.now)
        assert_equal ["1"], fired
        assert_equal n + 1, @alarms["1"].count
      end
    end
  end

  def test_a_key_that_is_no_ascii_is_set_again_too
    Alarm::DOES["é"] = -> { wake_at(Time.at(0)) if @count < 20 }
    Elah.run do
      @alarms["é"].set(at(0))
      assert_equal ["é"] * 20, fired(20)
    end
  end

  def test_the_longest_key
    key = "\xff".b * Elah::Entity::Collection::KEY_BYTES_MAX
    Elah.run do
      @alarms[key].set(at(0))
      assert_equal [key], fired.map(&:b)
    end
  end

  def test_a_fork_fires_no_timers_of_its_parent
    Elah.run do
      @alarms["1"].set(at(1))
      read, write = IO.pipe
      pid = fork do
        write.puts @alarms.size
        exit!(0)
      end
      Process.wait(pid)
      assert_equal "0\n", read.gets
      @clock.advance(1)
      assert_equal ["1"], fired
    end
  end
end
