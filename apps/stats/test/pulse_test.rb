# frozen_string_literal: true

require "test_helper"
require_relative "../pulse"

class PulseTest < Minitest::Test
  def setup
    @now = 1_000
    @pulse = Stats::Pulse.new(clock: -> { @now })
  end

  def test_events_are_counted_by_the_second
    @pulse.accepted("/a", 3)
    @now += 1
    @pulse.accepted("/b")
    @now += 1
    snapshot = @pulse.snapshot
    assert_equal [4, [3, 1]], [snapshot["total"], snapshot["per_second"].last(2)]
    assert_in_delta 4 / 5.0, @pulse.rate
  end

  def test_seconds_without_events_are_forgotten
    @pulse.accepted("/a", 3)
    @now += Stats::Pulse::SECONDS + 5
    assert_equal [0, [0]], [@pulse.snapshot["rate"].to_i, @pulse.snapshot["per_second"].uniq]
    assert_empty @pulse.snapshot["paths"]
  end

  def test_the_paths_named_most_come_first_and_are_bounded
    2.times { @pulse.accepted("/often") }
    (Stats::Pulse::PATHS_MAX + 10).times { |n| @pulse.accepted("/#{n}") }
    @pulse.accepted("/#{'x' * 300}")
    paths = @pulse.snapshot["paths"]
    assert_equal [Stats::Pulse::TOP, 12, 2], [paths.size, paths["(other)"], paths["/often"]]
  end

  def test_paths_of_the_last_minute_are_shown_too
    @pulse.accepted("/a")
    @now += 60
    @pulse.accepted("/a")
    assert_equal({ "/a" => 2 }, @pulse.snapshot["paths"])
    @now += 120
    @pulse.accepted("/b")
    assert_equal({ "/b" => 1 }, @pulse.snapshot["paths"])
  end

  def test_one_in_sixteen_is_timed
    timed = Array.new(64) { @pulse.timed?.tap { @pulse.accepted("/") } }
    assert_equal 4, timed.count(true)
  end

  def test_latencies_are_counted_by_buckets
    [0.00004, 0.0002, 0.0002, 9].each { |seconds| @pulse.took(seconds) }
    found = @pulse.snapshot["latency_us"]
    assert_equal [1, 2, 1], found.values_at("50", "250", "more")
  end

  def test_latencies_of_a_minute_ago_are_forgotten
    @pulse.took(9)
    @now += Stats::Pulse::LATENCY_SECONDS - 1
    @pulse.took(9)
    assert_equal 2, @pulse.snapshot["latency_us"]["more"]
    @now += 1
    assert_equal 1, @pulse.snapshot["latency_us"]["more"]
  end

  # As the native side counts: the first event of a minute is not let go with the minute before.
  def test_paths_that_are_counted_elsewhere
    now = @pulse.tick
    @pulse.paths.add("/a", 1)
    @pulse.noted(1, now)
    assert_equal [{ "/a" => 1 }, 1], @pulse.snapshot.values_at("paths", "total")
    @now += 60
    @pulse.tick
    @pulse.paths.add("/a", 2)
    @pulse.noted(2)
    assert_equal({ "/a" => 3 }, @pulse.snapshot["paths"])
  end
end
