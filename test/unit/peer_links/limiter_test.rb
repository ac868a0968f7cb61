# frozen_string_literal: true

require "test_helper"
require "elah/entity/peer_links"

class PeerLimiterTest < Minitest::Test
  Limiter = Elah::PeerLinks::Limiter

  # Calls against a limiter whose clock is the test's.
  class Traffic
    attr_reader :limiter, :now, :open

    def initialize
      @limiter = Limiter.new
      @now = 100.0
      @open = []
    end

    def pass(seconds) = @now += seconds

    # @return [Boolean] whether it was sent
    def send_call
      @limiter.admit?(@now).tap do |sent|
        next unless sent

        @limiter.admitted
        @open << @now
      end
    end

    def answer = @open.shift && @limiter.replied(@now)

    def be_late = (sent_at = @open.shift) && @limiter.late(sent_at, @now)

    def give_up = @open.shift && @limiter.ended
  end

  def test_without_lateness_there_is_no_bound
    traffic = Traffic.new
    assert(Array.new(10_000) { traffic.send_call }.all?)
    assert_equal({ state: :open, allowance: nil, in_flight: 10_000, late_calls: 0, limited_calls: 0 },
                 traffic.limiter.to_h)
  end

  def test_late_calls_close_it_to_a_probe_and_answers_open_it_step_by_step
    traffic = Traffic.new
    100.times { traffic.send_call }
    traffic.pass(0.15)
    allowances = Array.new(100) { traffic.be_late && traffic.limiter.allowance }
    assert_equal [nil, nil, 49, 24, 12, 6, 3, 1], allowances.first(8)
    assert_equal :probing, traffic.limiter.state
    refute traffic.send_call, "the last call was late just now"
    traffic.pass(Limiter::PROBE_SECONDS * 1.01)
    assert traffic.send_call, "the probe"
    refute traffic.send_call, "one probe at a time"
    assert_equal 2, traffic.limiter.to_h[:limited_calls]

    admitted = []
    until traffic.limiter.allowance.nil?
      traffic.answer
      nil while traffic.send_call && traffic.open.size < 200
      admitted << traffic.open.size
    end
    assert_equal [2, 3, 4, 6, 9, 13, 19, 28, 42, 63, 200], admitted
  end

  def test_a_probe_that_is_late_is_followed_by_one_probe_in_a_while
    traffic = Traffic.new
    sent = Array.new(2000) do
      traffic.pass(0.001)
      traffic.be_late if traffic.open.first&.<= traffic.now - 0.05
      traffic.send_call
    end
    after_the_first = sent.drop(200)
    assert_in_delta after_the_first.size * 0.001 / (0.05 + Limiter::PROBE_SECONDS), after_the_first.count(true), 2
  end

  def test_a_slow_call_among_quick_ones_limits_nobody
    traffic = Traffic.new
    20.times do
      traffic.send_call # the slow one
      traffic.pass(0.1)
      traffic.send_call
      traffic.open.rotate!(-1)
      traffic.answer
      traffic.be_late
    end
    assert_equal :open, traffic.limiter.state
    assert_equal 20, traffic.limiter.to_h[:late_calls]
  end

  def test_calls_that_end_otherwise_say_nothing
    traffic = Traffic.new
    10.times { traffic.send_call && traffic.give_up }
    assert_equal [:open, 0], traffic.limiter.to_h.values_at(:state, :in_flight)
  end

  def test_who_had_no_time_says_nothing
    traffic = Traffic.new
    10.times { traffic.send_call && traffic.pass(Limiter::FAIR_SECONDS / 2) && traffic.be_late }
    assert_equal [:open, 10], traffic.limiter.to_h.values_at(:state, :late_calls)
  end

  # Whatever comes in whatever order: what is on the way is counted right, the allowance holds, nothing is refused
  # without a reason, and a peer that answers again is open again.
  def test_random_histories_keep_its_promises
    200.times do |seed|
      random = Random.new(seed)
      traffic = Traffic.new
      500.times do
        case random.rand(6)
        when 0, 1 then check_admission(traffic, seed)
        when 2 then traffic.answer
        when 3 then traffic.be_late
        when 4 then traffic.give_up
        else traffic.pass(random.rand * 0.2)
        end
        traffic.open.rotate!(random.rand(5)) if traffic.open.any?
        assert_equal traffic.open.size, traffic.limiter.in_flight, "seed #{seed}"
      end
      recover(traffic, seed)
    end
  end

  private

  def check_admission(traffic, seed)
    allowance = traffic.limiter.allowance
    in_flight = traffic.open.size
    sent = traffic.send_call
    assert sent, "seed #{seed}" if allowance.nil?
    refute sent, "seed #{seed}" if allowance && in_flight >= allowance
    assert sent, "seed #{seed}" if allowance && allowance > 1 && in_flight < allowance
  end

  def recover(traffic, seed)
    traffic.pass(Limiter::PROBE_SECONDS * 1.01)
    (Limiter::ALLOWANCE_MAX * 2).times { traffic.answer || traffic.send_call }
    traffic.answer while traffic.open.any?
    assert_equal :open, traffic.limiter.state, "seed #{seed}"
  end
end
