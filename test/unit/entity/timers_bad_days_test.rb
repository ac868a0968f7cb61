# frozen_string_literal: true

require "test_helper"
require "support/timers_case"

# Timers of entities that cannot fire: because of their entities, the store, or another process.
class EntityTimersBadDaysTest < TimersCase
  LIB = File.expand_path("../../../lib", __dir__)

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
end
