# frozen_string_literal: true

require "test_helper"
require "support/entity_case"
require "support/timed_store"

# Recurring jobs that one worker runs: their times, and what stops them.
class EntityJobTest < EntityCase
  include TimedStore

  def setup
    super
    @jobs = Elah::Entity::Job.in(@timed)
    @runs = Queue.new
  end

  # Seconds from the start to the time that the store has for the next run of a job.
  def due_in(name = "job")
    row = @timed.table("entity:elah.jobs").each.find { |key, _| key.end_with?("#{name}due") }
    row && ((row.last.to_i / 1000.0) - START.to_i)
  end

  # Asks again and again. The loop goes on meanwhile, because each question waits for a commit.
  def wait_until
    give_up_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
    until yield
      is_late = Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up_at
      flunk "It did not come to that within 60 s: #{@log.string}" if is_late
      @timed.table("questions").put("asked", "again")
    end
  end

  def wait_until_planned(name = "job")
    wait_until { due_in(name) }
  end

  # The process begins anew: with a loop of its own, until the block has ended.
  def in_new_process(&block)
    @jobs.reset
    Elah.run(&block)
  end

  def test_a_job_runs_at_its_times
    in_new_process do
      Elah.every(10, once: "job", store: @timed) { @runs << @timed.now - START }
      wait_until_planned
      3.times do |n|
        @clock.advance(10)
        assert_equal 10 * (n + 1), @runs.pop
        wait_until { due_in == 10 * (n + 2) }
      end
    end
  end

  def test_its_times_outlive_the_process
    in_new_process do
      Elah.every(10, once: "job", store: @timed) { @runs << :first }
      wait_until_planned
    end
    @clock.advance(9)
    in_new_process do
      Elah.every(10, once: "job", store: @timed) { @runs << :second }
      assert_equal 10, due_in
      @clock.advance(1)
      assert_equal :second, @runs.pop
    end
  end

  def test_times_that_have_passed_lead_to_one_run
    in_new_process do
      Elah.every(10, once: "job", store: @timed) { @runs << @timed.now - START }
      wait_until_planned
    end
    @clock.advance(45)
    in_new_process do
      Elah.every(10, once: "job", store: @timed) { @runs << @timed.now - START }
      assert_equal 45, @runs.pop
      wait_until { due_in == 50 }
      @clock.advance(5)
      assert_equal 50, @runs.pop
    end
  end

  def test_another_schedule_takes_effect
    in_new_process do
      Elah.every(1000, once: "job", store: @timed) { @runs << 1 }
      wait_until_planned
    end
    in_new_process do
      Elah.every(5, once: "job", store: @timed) { @runs << 1 }
      wait_until { due_in == 5 }
      @clock.advance(5)
      @runs.pop
    end
  end

  def test_a_job_that_fails_is_reported_and_runs_on_time
    in_new_process do
      Elah.every(10, once: "job", store: @timed) do
        @runs << 1
        raise "failed once" if @timed.now - START < 15
      end
      wait_until_planned
      2.times do |n|
        @clock.advance(10)
        @runs.pop
        wait_until { due_in == 10 * (n + 2) }
      end
    end
    assert_match(/ERROR .* The job job failed: RuntimeError: failed once/, @log.string)
  end

  def test_what_a_run_starts_ends_with_it
    ended = Queue.new
    in_new_process do
      Elah.every(10, once: "job", store: @timed) do
        Elah.async do
          Queue.new.pop
        ensure
          ended << true
        end
      end
      wait_until_planned
      @clock.advance(10)
      assert ended.pop
    end
  end

  def test_a_run_that_is_cut_short_runs_again
    begun = Queue.new
    in_new_process do
      Elah.every(10, once: "job", store: @timed) { begun << 1 && Queue.new.pop }
      wait_until_planned
      @clock.advance(10)
      begun.pop
    end
    in_new_process do
      Elah.every(10, once: "job", store: @timed) { @runs << 2 }
      assert_equal 2, @runs.pop
    end
  end

  def test_a_job_that_this_process_does_not_know_waits_and_is_forgotten_after_a_day
    in_new_process do
      Elah.every(10, once: "job", store: @timed) { @runs << 1 }
      wait_until_planned
    end
    @clock.advance(10)
    in_new_process do
      @jobs.start
      wait_until { @timed.table("entity-timers:elah.jobs").range.first[1].unpack1("Q>") == (START.to_i + 20) * 1000 }
      @clock.advance(86_400)
      wait_until { due_in.nil? }
    end
    assert_empty @runs
  end

  # Its call waited for the end of the run. A worker that made it again and again took the owner for slow, and refused
  # the calls of others to it.
  def test_a_worker_that_starts_while_a_job_runs_does_not_call_it
    gate = Queue.new
    calls = []
    in_new_process do
      running = Elah.every(10, once: "job", store: @timed) { @runs << 1 && gate.pop }
      wait_until_planned
      @clock.advance(10)
      @runs.pop
      running.cancel
      @jobs.define_singleton_method(:call) { |key, name, arguments| calls << key && super(key, name, arguments) }
      Elah.every(10, once: "job", store: @timed) { @runs << 1 }
      Elah.every(10, once: "another", store: @timed) { @runs << 2 }
      wait_until_planned("another")
      assert_equal ["another"], calls
      gate << nil
    end
  end

  def test_a_cancelled_job_does_not_run_here
    in_new_process do
      Elah.every(10, once: "job", store: @timed) { @runs << 1 }.cancel
      Elah.every(10, once: "other", store: @timed) { @runs << 2 }
      %w[job other].each { |name| wait_until_planned(name) }
      @clock.advance(10)
      assert_equal 2, @runs.pop
      assert_empty @runs
    end
  end

  def test_a_daily_job
    in_new_process do
      day = Time.at(START.to_i).then { |time| Time.new(time.year, time.month, time.day, 3, 30) }
      first = day > START ? day : day + 86_400
      Elah.daily(:"03:30", once: "job", store: @timed) { @runs << @timed.now }
      wait_until_planned
      2.times do |n|
        @clock.advance(first + (n * 86_400) - @timed.now)
        assert_equal first + (n * 86_400), @runs.pop
        wait_until { due_in == first + ((n + 1) * 86_400) - START }
      end
    end
  end

  def test_a_daily_job_where_the_clocks_change
    zone = ENV.fetch("TZ", nil)
    ENV["TZ"] = "Europe/Berlin"
    job = Elah::Entity::Job.new
    { "2026-03-28 03:30" => "2026-03-29 03:30", "2026-10-24 23:30" => "2026-10-25 23:30",
      "2026-10-25 00:30" => "2026-10-26 00:30", "2026-12-31 12:00" => "2027-01-01 12:00" }.each do |last, following|
      job.instance_variable_set(:@schedule, { "at" => last[-5..] })
      time = Time.new(*last.scan(/\d+/).map(&:to_i))
      assert_equal following, job.send(:following, time).strftime("%Y-%m-%d %H:%M")
    end
  ensure
    ENV["TZ"] = zone
  end

  def test_a_job_is_checked
    assert_raises(Elah::OutsideLoop) { Elah.every(1, once: "job", store: @timed) { 1 } }
    Elah.run do
      [true, "", "x" * 256, "caf\u00e9".b, "\xff"].each do |name| # the last four never ran
        error = assert_raises(ArgumentError) { Elah.every(1, once: name, store: @timed) { 1 } }
        assert_match(/once: needs the name/, error.message)
      end
      assert_raises(ArgumentError) { Elah.every(1, once: "job", store: @timed) }
      [0, Float::INFINITY, 1e12].each do |seconds|
        assert_raises(ArgumentError, seconds.to_s) { Elah.every(seconds, once: "job", store: @timed) { 1 } }
      end
      ["3:30", "24:00", "12:60", "noon", 3].each do |time|
        assert_raises(ArgumentError, time.to_s) { Elah.daily(time, once: "job", store: @timed) { 1 } }
      end
      Elah.every(1, once: "job", store: @timed) { 1 }
      error = assert_raises(ArgumentError) { Elah.every(1, once: "job", store: @timed) { 1 } }
      assert_match(/already/, error.message)
    end
  end
end
