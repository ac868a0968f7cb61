# frozen_string_literal: true

require "test_helper"
require "support/entity_case"
require "support/patience"
require "support/timed_store"

# Timers of entities: when they fire, what is stored with them, and what becomes of one that fails.
class EntityTimersTest < EntityCase
  include Patience
  include TimedStore

  Timers = Elah::Entity::Timers
  LIB = File.expand_path("../../../lib", __dir__)

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

  # Has no method for its timer.
  class Silent < Elah::Entity
    def set(time) = wake_at(time)
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

  def test_a_timer_that_fails_is_repeated_later_and_later
    failures = 0
    Alarm::DOES["1"] = -> { (failures += 1) < 4 && raise("attempt #{failures}") }
    before = Timers::COUNTS.to_a
    @alarms["1"].set(at(0))
    time = 0
    [1, 2, 4].each do |seconds|
      @alarms.reset # the process ends: attempts are counted in the store
      Elah.run do
        assert_empty let_due_ones_fire(time)
        @clock.advance(seconds - 0.001)
        assert_empty let_due_ones_fire(time + seconds - 0.001)
      end
      @clock.advance(0.001)
      time += seconds
    end
    Elah.run do
      @alarms["last"].count
      assert_equal ["1"], fired
      assert_equal 1, @alarms["1"].count, "failed attempts changed nothing"
    end
    assert_match(/ERROR .* The timer of alarms\[1\] failed, attempt 3; the next follows in 4 s/, @log.string)
    assert_equal 3, Timers::COUNTS.failed - before[1]
  end

  # Such a timer was tried again at once and for ever, each time with an error in the log. One that met a LoadError or
  # Cancelled was forgotten.
  [RuntimeError, NotImplementedError, LoadError, Elah::Cancelled].each do |kind|
    define_method(:"test_a_timer_whose_entity_cannot_be_restored_by_#{kind}_is_tried_later_and_later") do
      restores = 0
      is_broken = false
      @alarms = Class.new(Alarm) do
        entity_name "broken by #{kind}"
        define_method(:restore) { super().tap { is_broken && key == "1" && (restores += 1) && raise(kind, "broken") } }
      end.in(@timed)
      @alarms["1"].set(at(0))
      @alarms.reset
      is_broken = true
      Elah.run do
        assert_empty let_due_ones_fire(0)
        [[0, 2], [1, 4], [2, 4], [3, 6]].each do |time, expected| # an attempt restores it twice
          @clock.advance(at(time) - @timed.now)
          wait_until("it was tried") { turn && restores >= expected }
          assert_empty let_due_ones_fire(time)
          assert_equal expected, restores, "after #{time} s"
        end
        is_broken = false
        @alarms["1"].set(at(3))
        assert_equal ["1"], Elah.timeout(patience_seconds) { fired }, "no matter how long the pause has become"
      end
      assert_match(/\(#{kind}: broken\), attempt 3 of this worker; the next follows in 4 s/, @log.string)
    end
  end

  # Each loss of a shard forgot the attempts in all of them, and their pauses began again with 1 s.
  def test_attempts_are_counted_on_when_another_shard_is_lost
    is_broken = false
    losses = []
    alarms = Class.new(Alarm) do
      entity_name "lost beside"
      define_method(:restore) do
        super()
        raise "broken" if key == "1" && is_broken
        raise Elah::Entity::Moved, "lost" if key == "2" && losses.pop
      end
    end.in(@timed)
    { "1" => 0, "2" => 0.5 }.each { |key, time| alarms[key].set(at(time)) }
    refute_equal alarms.shard_of("1"), alarms.shard_of("2")
    alarms.reset
    is_broken = true
    losses << true
    Elah.run do
      alarms.start
      wait_until("the first one was tried") { turn && @log.string.include?("attempt 1 of this worker") }
      @clock.advance(0.5)
      assert_equal ["2"], fired
      assert_empty losses
      @clock.advance(0.5)
      wait_until("it was tried again") { turn && @log.string.scan("of this worker").size == 2 }
    end
    assert_match(/attempt 2 of this worker; the next follows in 2 s/, @log.string)
  end

  # The wait had a limit at first and none after it: they were never tried again, and no other timer of the class fired.
  def test_timers_whose_entities_wait_in_restore_are_tried_again
    is_silent = false
    keys = Array.new(Timers::RUNNING_MAX, &:to_s)
    alarms = Class.new(Alarm) do
      entity_name "silent"
      define_singleton_method(:woken_seconds) { is_silent ? 0.01 : 60 }
      define_method(:restore) { is_silent ? Queue.new.pop : super() }
    end.in(@timed)
    alarms.call_many(keys.map { |key| [key, :set, at(0)] })
    alarms.reset
    is_silent = true
    Elah.run do
      alarms.start
      wait_until("all have failed") { turn && @log.string.scan("attempt 1 of this worker").size == keys.size }
      is_silent = false
      @clock.advance(1)
      assert_equal keys.sort, Elah.timeout(patience_seconds) { fired(keys.size) }.sort
    end
  end

  def test_the_pause_between_attempts_is_bounded
    Alarm::DOES["1"] = -> { raise "always" }
    @alarms["1"].set(at(0))
    time = -> { @timed.table("entity-timers:alarms").range.first[1].unpack1("Q>") }
    12.times { @alarms.call_here("1", :__postpone__, time.call) }
    assert_equal (START.to_i * 1000) + 300_000, time.call
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

  def test_timers_wait_while_the_store_is_full
    dir = Dir.mktmpdir("elah-full")
    store = Elah::Store.open(dir, bytes_max: 1024**2, clock: @clock)
    alarms = Alarm.in(store)
    is_full = true
    Alarm::DOES["1"] = -> { state.put("large", "x" * 2_000_000) if is_full }
    Elah.run do
      alarms["1"].set(at(0))
      3.times do
        assert_equal ["1"], fired, "the method has run, but its changes do not fit"
        @clock.advance(2)
      end
      is_full = false
      fired
      alarms.flush
      assert_equal 1, alarms["1"].count
    end
    assert_equal 1, @log.string.scan("Timers of alarms cannot fire").size
  ensure
    store.close
    FileUtils.remove_entry(dir)
  end

  # The fiber of the timers ended with a TypeError, and none of the class fired in this worker any more.
  def test_a_shard_that_is_lost_before_its_timers_are_read_is_read_again
    lost = nil
    @alarms.define_singleton_method(:flush) do
      super()
      lost ||= timers.send(:forget, shard_of("1"))
    end
    Elah.run do
      @alarms["1"].set(at(0))
      assert_equal ["1"], fired
    end
    refute_nil lost
  end

  # Each of thousands was logged with its backtrace, again and again.
  def test_timers_without_room_for_their_entities_are_told_once
    crowded = Class.new(Alarm) { entity_name "crowded" }
    alarms = with_config(entities_max: 1) { crowded.in(@timed) }
    Elah.run do
      20.times { |n| alarms[n].set(at(1)) }
      gate = Gate.new
      busy = Elah.async { alarms["busy"].set_and_wait(at(9), gate) }
      wait_until("it is busy") { turn && alarms.activations["busy"]&.runner }
      failed = Timers::COUNTS.failed
      @clock.advance(2)
      wait_until("all have failed") { turn && Timers::COUNTS.failed >= failed + 20 }
      assert_equal 1, @log.string.scan("ERROR").size, @log.string
    ensure
      gate << nil
      busy.value
    end
  end

  def test_timers_outlive_a_fault_of_their_look
    faults = 0
    @alarms.define_singleton_method(:flush) { (faults += 1) == 1 ? raise("a fault") : super() }
    Elah.run do
      @alarms["1"].set(at(0))
      assert_equal ["1"], fired
    end
    assert_match(/Timers of alarms cannot fire: .*a fault/, @log.string)
  end

  # It was there first, and fires no timers, or fires them no more: nobody did.
  { "without_a_loop" => "other.ask", "whose_loop_has_ended" => "Elah.run { other.ask }" }.each do |name, ask|
    define_method(:"test_timers_fire_beside_a_console_#{name}") do
      script = <<~RUBY
        require "elah"
        class Other < Elah::Entity
          def ask = 1
          def woken = nil
        end
        other = Other.in(Elah::Store.open(ARGV[0]))["1"]
        #{ask}
        $stdout.syswrite("up\n")
        $stdin.gets
      RUBY
      IO.popen([RbConfig.ruby, "-I", LIB, "-e", script, @timed_dir], "r+") do |console|
        assert_equal "up\n", console.gets
        Elah.run do
          @alarms["1"].set(at(0))
          assert_equal ["1"], Elah.timeout(30) { fired }
        end
        console.puts
      end
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
