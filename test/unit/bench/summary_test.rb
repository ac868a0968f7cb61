# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "../../../bench/lib/summary"

class SummaryTest < Minitest::Test
  # What bench/stats, bench/long_run and bench/broadcast record.
  def test_a_record_of_the_collector_is_shown_with_its_targets
    spread = { median: 0.61, min: 0.6, max: 0.62 }
    runs = { elah: [{ rate: 6000.0 }], other: [{ rate: 10_000.0 }] }
    duel = { title: "GET", workload: "get", events: 1, target: 0.6, runs: runs, ratios: { rate: spread, p95: spread }, commands: { elah: "elah serve stats", other: "bare" } }
    batch = { **duel, title: "batch", workload: "batch", events: 100, target: nil, events_target: 400_000 }
    reading = { requests: 1_000_000, rate: 50_000.0, p99_us: 7000, private_bytes: 21_000_000, store_bytes: 5_000_000 }
    broadcast = { listeners: 10_000, seconds: 15, ticks: { least: 15, most: 15 }, server_share: 0.2, after: { private_bytes: 95_000_000 }, peak_bytes: 99_000_000, command: "elah serve live" }
    records = { "stats" => { machine: MACHINE, duels: [duel, batch] }, "long_run" => { machine: MACHINE, readings: [reading], command: "elah serve long" },
                "broadcast" => { machine: MACHINE, **broadcast } }
    text = summary(records).whole
    ["| GET | 6,000 | 10,000 |  | 0.61 (0.60–0.62) | ≥ 0.60 |", "| 600,000 | 0.61 (0.60–0.62) | ≥ 400,000 events/s |",
     "| 1,000,000 | 50,000 | 7.0 ms | 21.0 MB | 5.0 MB | ≤ 21.9 MB, the last within 2 % of the first |", "| 10,000 | 15 | 15 | 20 % | 95.0 MB | 99.0 MB | < 290.0 MB |",
     "| stats, batch | 2026-11-21 | c |", "elah serve stats", "elah serve long", "elah serve live"].each { |line| assert_includes text, line }
  end

  def test_a_record_of_the_leaderboards_is_shown_with_its_targets
    results = [{ name: "rank", what: "score and rank of a member: requests/s, ÷ bare hyper", figure: "0.61 (0.60–0.62)", target: "≥ 0.50" }]
    figures = { ranks: 1_600_000.4, loading_seconds: 1.234, p99_ratios: [1.1, 1.2, 1.0] }
    text = summary("leaderboards" => { machine: MACHINE, results: results },
                   "ranked_set" => { machine: MACHINE, figures: figures, command: "bench/ranked_set" }).whole
    ["| score and rank of a member: requests/s, ÷ bare hyper | 0.61 (0.60–0.62) | ≥ 0.50 |", "| ranks per second, one by one | 1,600,000 | ≥ 1,500,000 |",
     "| seconds until a stored set is loaded | 1.23 | ≤ 2 |", "| 1.10 (1.00–1.20) | ≤ 1.3 |", "bench/ranked_set", "bench/leaderboards rank"].each { |line| assert_includes text, line }
  end

  private

  MACHINE = { date: "2026-11-21", commit: "c", cpu: "one", system: "Linux", ruby: "ruby 3.1.2p20", hyper: "1" }.freeze
  private_constant :MACHINE

  def summary(records)
    Bench::Summary.new(Struct.new(:directory, :records) { def read(name) = records[name] }.new("bench/record/2026-11-21", records))
  end
end

class StatisticsTest < Minitest::Test
  def test_the_median_of_an_odd_and_an_even_number_of_runs
    assert_equal 2.0, Bench::Statistics.median([9, 1, 2])
    assert_equal 2.5, Bench::Statistics.median([9, 1, 2, 3])
    assert_equal({ median: 2.0, min: 1.0, max: 9.0 }, Bench::Statistics.spread([9, 1, 2]))
  end
end
