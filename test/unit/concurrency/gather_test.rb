# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"

class GatherTest < Minitest::Test
  # A route that notes what it is given, and whose answers are those of the calls it was told to answer.
  class Route
    Deferred = Struct.new(:route, :name) do
      def call = sleep(0.01) && [:alone, name]
    end

    attr_reader :scattered, :seconds, :cancels

    def initialize(outcomes)
      @outcomes = outcomes
      @cancels = 0
    end

    def deferred(name) = Deferred.new(self, name)

    def scatter(calls, seconds)
      raise Elah::Overloaded, "full" if @outcomes == :full

      @scattered = calls.map(&:name)
      @seconds = seconds
      self
    end

    def wait(seconds) = seconds && sleep(seconds)

    def outcome(index) = @outcomes.fetch(@scattered[index])

    def cancel = @cancels += 1
  end

  def test_a_gather_collects_what_came_until_its_deadline
    Elah.run do
      ended = []
      results = Elah.gather(deadline: 1) do |g|
        g.call(:quick) { 1 }
        g.call(:slow, fallback: 2) { sleep_noting(ended, :slow) }
        g.call(:broken, fallback: ->(error) { error.message }) { sleep(0.01) && raise("broken") }
        g.call { sleep(0.01) && 4 }
      end
      assert_equal({ :quick => 1, :slow => 2, :broken => "broken", 3 => 4 }, results.to_h)
      assert_equal %i[returned late failed returned], results.map(&:outcome)
      assert_equal [1, 2, "broken", 4], results.values
      refute_predicate results, :complete?
      assert_kind_of Elah::DeadlineExceeded, results[:slow].error
      sleep(0)
      assert_equal [:slow, "Elah::DeadlineExceeded: There was no result within 1 s."], ended
    end
  end

  def test_a_gather_without_fallback_raises_the_error_of_that_call
    results = Elah.gather(deadline: 0.2) do |g|
      g.call(:broken) { raise KeyError, "mine" }
      g.call(:late) { sleep }
      g.call(:fine) { 1 }
    end
    assert_equal 1, results[:fine].value
    assert_equal("mine", assert_raises(KeyError) { results[:broken].value }.message)
    assert_raises(Elah::DeadlineExceeded) { results[:late].value }
  end

  def test_a_gather_runs_side_by_side_and_waits_no_longer_than_it_must
    started_at = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    results = Elah.gather(deadline: 60) { |g| 50.times { |index| g.call { sleep(0.2) && index } } }
    assert_operator Process.clock_gettime(Process::CLOCK_MONOTONIC) - started_at, :<, 8,
                    "one after the other takes 10 s"
    assert_equal [*0...50], results.values
    assert_predicate results, :complete?
    assert_empty(Elah.gather { nil }.to_a)
  end

  def test_a_gather_that_is_cancelled_ends_its_calls_and_says_why
    Elah.run do
      ended = []
      assert_raises(Elah::DeadlineExceeded) do
        Elah.timeout(0.01) { Elah.gather { |g| g.call { sleep_noting(ended, 1) } } }
      end
      sleep(0)
      assert_equal [1, "Elah::Cancelled: The gather ended before this call."], ended
    end
  end

  def test_a_key_is_taken_once
    Elah.run do
      assert_raises(ArgumentError) { Elah.gather { |g| 2.times { g.call(:same) { 1 } } } }
    end
  end

  # The key was taken all the same, and the other calls were lost with it.
  def test_a_call_in_another_thread_is_refused
    results = Elah.run do
      Elah.gather do |g|
        g.call(:one) { 1 }
        Elah.offload { assert_raises(Elah::OutsideLoop) { g.call(:other) { 2 } } }
      end
    end
    assert_equal({ one: 1 }, results.to_h)
  end

  def test_deferred_calls_leave_together_by_carrier
    near = Route.new({ a: [:returned, 1, nil], b: [:late, nil, nil] })
    far = Route.new({ c: [:limited, nil, Elah::Overloaded.new("limited")], d: [:failed, nil, KeyError.new("mine")] })
    full = Route.new(:full)
    results = Elah.gather(deadline: 1) do |g|
      { a: near, c: far, b: near, d: far, e: full }.each do |name, route|
        g.call(name, route.deferred(name), fallback: ->(error) { error.class })
        assert_nil route.scattered, "it leaves when all are named"
      end
      g.call(:f, Route::Deferred.new(nil, :f))
      g.call(:g) { 7 }
    end
    expected = { a: 1, b: Elah::DeadlineExceeded, c: Elah::Overloaded, d: KeyError, e: Elah::Overloaded,
                 f: %i[alone f], g: 7 }
    assert_equal expected.sort.to_h, results.to_h.sort.to_h
    assert_equal [%i[a b], %i[c d]], [near.scattered, far.scattered]
    assert_equal %i[a c b d e f g], results.map(&:key)
    assert_predicate results[:c], :limited?
    assert_predicate results[:b], :late?
    assert_includes 0.01..1, near.seconds
    assert_equal [1, 1], [near.cancels, far.cancels]
  end

  # It was nil: as a limit for other clients, none.
  def test_the_blocks_have_the_deadline_of_the_gather_or_an_earlier_one
    left = lambda do |seconds|
      Elah.gather(deadline: seconds) { |g| g.call(:left) { Elah.async { Elah.deadline }.value } }[:left].value
    end
    Elah.run do
      assert_nil left.call(nil)
      assert_in_delta 500, left.call(500), 100
      Elah.timeout(1000) { assert_in_delta 500, left.call(500), 100 }
      Elah.timeout(500) { [nil, 1000].each { |seconds| assert_in_delta 500, left.call(seconds), 100 } }
    end
  end

  def test_deferred_calls_are_given_up_when_the_gather_is
    route = Route.new({ a: [:returned, 1, nil] })
    Elah.run do
      assert_raises(RuntimeError) { Elah.gather { |g| g.call(:a, route.deferred(:a)) || raise("before they left") } }
      assert_nil route.scattered
      assert_raises(Elah::DeadlineExceeded) do
        Elah.timeout(0.01) { Elah.gather(deadline: 9) { |g| g.call(:a, route.deferred(:a)) } }
      end
      assert_equal 1, route.cancels
    end
  end

  def test_a_call_is_a_block_or_a_deferred_call
    Elah.run do
      Elah.gather do |g|
        assert_raises(ArgumentError) { g.call(:a) }
        assert_raises(ArgumentError) { g.call(:a, Route.new({}).deferred(:a)) { 1 } }
      end
    end
  end

  private

  def sleep_noting(ended, name)
    sleep
  rescue Elah::Error => e
    ended << name << "#{e.class}: #{e.message}"
    raise
  end
end
