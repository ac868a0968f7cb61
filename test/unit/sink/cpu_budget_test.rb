# frozen_string_literal: true

require "support/sink_case"

# How a delivery shares its thread with requests. Time, CPU time and requests are those of the test: nothing waits.
class SinkCpuBudgetTest < Minitest::Test
  # What share, pause and clocks see: a thread on which requests take `load` of the time in which the delivery rests.
  class Thread
    attr_accessor :load, :pressure, :cpu, :is_asked
    attr_reader :rests

    def initialize
      @now = @cpu = 0.0
      @requests = 0
      @load = 1.0
      @pressure = 0.0
      @rests = []
      @is_asked = true
    end

    def share(part)
      options = { pause: method(:pause), requests: -> { @is_asked ? @requests += 1 : @requests }, cpu: -> { @cpu },
                  clock: -> { @now } }
      Elah::Sink::CpuBudget.new(part, **options) { @pressure }
    end

    def pause(seconds)
      @rests << seconds
      pass(seconds, seconds * @load)
    end

    def pass(seconds, cpu)
      @now += seconds
      @cpu += cpu
    end
  end

  def setup
    @thread = Thread.new
    @task = Elah::Task.new
  end

  # A turn that uses so much CPU time; the seconds that the delivery rested before it.
  def turn(share, seconds)
    @thread.rests.clear
    share.run(@task) { @thread.pass(seconds, seconds) }
    @thread.rests.sum
  end

  def test_what_a_turn_has_used_is_paid_for_by_requests
    share = @thread.share(0.1)
    assert_equal 0.0, turn(share, 0.004)
    assert_in_delta 0.036, turn(share, 0.010)
    assert_in_delta 0.090, turn(share, 0.0)
    assert_in_delta 0.0, turn(share, 0.0)
  end

  def test_a_loop_that_shares_its_core_pays_more_slowly
    share = @thread.share(0.2)
    turn(share, 0.010)
    @thread.load = 0.5
    assert_in_delta 0.080, turn(share, 0.010)
    assert(@thread.rests.all? { |seconds| seconds <= 0.010 })
  end

  def test_time_that_requests_leave_over_is_the_delivery_s
    share = @thread.share(0.05)
    turn(share, 0.050)
    @thread.load = 0.1
    assert_in_delta 0.010, turn(share, 0.050), 1e-9, "one look at a loop that has time to spare"
    @thread.is_asked = false
    turn(share, 0.050)
    assert_in_delta 0.0, turn(share, 0.050), 1e-9, "no look when nobody asks for anything"
  end

  def test_the_share_grows_with_what_waits
    rested = [0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0].map do |pressure|
      @thread.pressure = pressure
      share = @thread.share(0.1)
      turn(share, 0.009)
      turn(share, 0.0)
    end
    assert_in_delta 0.081, rested[0]
    assert_in_delta 0.081, rested[1]
    assert_equal rested[1..5].sort.reverse.uniq, rested[1..5]
    assert_equal [0.0, 0.0], rested.last(2)
  end

  def test_a_delivery_that_waits_uses_nothing
    share = @thread.share(0.5)
    share.run(@task) do
      @thread.pass(0.002, 0.002)
      @task.observer.stop
      @thread.pass(5, 4)
      @task.observer.start
      @thread.pass(0.001, 0.001)
    end
    assert_nil @task.observer
    assert_in_delta 0.003, turn(share, 0.0)
  end

  def test_the_whole_share_never_rests
    share = @thread.share(1.0)
    assert_equal([0.0, 0.0], [turn(share, 1.0), turn(share, 1.0)])
  end

  def test_a_turn_that_fails_is_paid_for_too
    share = @thread.share(0.5)
    assert_raises(RuntimeError) do
      share.run(@task) do
        @thread.pass(0.004, 0.004)
        raise "no"
      end
    end
    assert_nil @task.observer
    assert_in_delta 0.004, turn(share, 0.0)
  end

  # The loop notifies the observer of a task only about that task: it yields, starts a fiber, waits for its value.
  def test_the_loop_stops_and_starts_the_observer_of_its_task
    told = []
    observer = Object.new
    observer.define_singleton_method(:stop) { told << :stop }
    observer.define_singleton_method(:start) { told << :start }
    Elah.run do
      Elah.current_loop.current_task.observer = observer
      Fiber.scheduler.yield
      Elah.async { Fiber.scheduler.yield }.value
      Elah.current_loop.current_task.observer = nil
      Fiber.scheduler.yield
    end
    assert_equal %i[stop start] * 3, told
  end
end
