# frozen_string_literal: true

require "test_helper"
require_relative "../live_counters"

class LiveCountersTest < Minitest::Test
  def setup
    @now = 1_000
    @counters = Stats::LiveCounters.new(clock: -> { @now })
  end

  def test_events_are_counted_by_the_second
    @counters.count("/a", 3)
    @now += 1
    @counters.count("/b")
    @now += 1
    snapshot = @counters.snapshot
    assert_equal [4, [3, 1]], [snapshot["total"], snapshot["per_second"].last(2)]
    assert_in_delta 4 / 5.0, @counters.rate
  end

  def test_seconds_without_events_are_forgotten
    @counters.count("/a", 3)
    @now += Stats::LiveCounters::SECONDS + 5
    assert_equal [0, [0]], [@counters.snapshot["rate"].to_i, @counters.snapshot["per_second"].uniq]
    assert_empty @counters.snapshot["paths"]
  end

  def test_the_paths_named_most_come_first_and_are_bounded
    2.times { @counters.count("/often") }
    (Stats::LiveCounters::PATHS_MAX + 10).times { |n| @counters.count("/#{n}") }
    @counters.count("/#{'x' * 300}")
    paths = @counters.snapshot["paths"]
    assert_equal [Stats::LiveCounters::TOP, 12, 2], [paths.size, paths["(other)"], paths["/often"]]
  end

  def test_paths_of_the_last_minute_are_shown_too
    @counters.count("/a")
    @now += 60
    @counters.count("/a")
    assert_equal({ "/a" => 2 }, @counters.snapshot["paths"])
    @now += 120
    @counters.count("/b")
    assert_equal({ "/b" => 1 }, @counters.snapshot["paths"])
  end

  def test_one_in_sixteen_is_measured
    timed = Array.new(64) { @counters.sample?.tap { @counters.count("/") } }
    assert_equal 4, timed.count(true)
  end

  def test_latencies_are_counted_by_buckets
    [0.00004, 0.0002, 0.0002, 9].each { |seconds| @counters.record_latency(seconds) }
    found = @counters.snapshot["latency_us"]
    assert_equal [1, 2, 1], found.values_at("50", "250", "more")
  end

  def test_latencies_of_a_minute_ago_are_forgotten
    @counters.record_latency(9)
    @now += Stats::LiveCounters::LATENCY_SECONDS - 1
    @counters.record_latency(9)
    assert_equal 2, @counters.snapshot["latency_us"]["more"]
    @now += 1
    assert_equal 1, @counters.snapshot["latency_us"]["more"]
  end

  # The first event of a minute is not dropped with the minute before.
  def test_paths_that_a_caller_counts
    now = @counters.expire
    @counters.paths.add("/a", 1)
    @counters.add_counted(1, now)
    assert_equal [{ "/a" => 1 }, 1], @counters.snapshot.values_at("paths", "total")
    @now += 60
    @counters.expire
    @counters.paths.add("/a", 2)
    @counters.add_counted(2)
    assert_equal({ "/a" => 3 }, @counters.snapshot["paths"])
  end
end
