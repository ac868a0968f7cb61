# frozen_string_literal: true

require_relative "../../test_helper"
require_relative "../../../bench/lib/summary"

class SummaryTest < Minitest::Test
  # What bench/stats, bench/long_run and bench/broadcast record.
  def test_a_record_of_the_collector_is_shown_with_its_targets
    spread = { median: 0.61, min: 0.6, max: 0.62 }
    runs = { elah: [{ rate: 6000.0 }], other: [{ rate: 10_000.0 }] }
    duel = { title: "GET", workload: "get", events: 1, target: 0.6, runs: runs, ratios: { rate: spread, p95: spread },
             commands: { elah: "elah serve stats", other: "bare" } }
    batch = { **duel, title: "batch", workload: "batch", events: 100, target: nil, events_target: 400_000 }
    reading = { requests: 1_000_000, rate: 50_000.0, p99_us: 7000, private_bytes: 21_000_000, store_bytes: 5_000_000 }
    broadcast = { listeners: 10_000, seconds: 15, ticks: { least: 15, most: 15 }, server_share: 0.2,
                  after: { private_bytes: 95_000_000 }, peak_bytes: 99_000_000, command: "elah serve live" }
    records = { "stats" => { machine: MACHINE, duels: [duel, batch] },
                "long_run" => { machine: MACHINE, readings: [reading], command: "elah serve long" },
                "broadcast" => { machine: MACHINE, **broadcast } }
    text = summary(records).whole
    ["| GET | 6,000 | 10,000 |  | 0.61 (0.60–0.62) | ≥ 0.60 |", "| 600,000 | 0.61 (0.60–0.62) | ≥ 400,000 events/s |",
     "| 1,000,000 | 50,000 | 7.0 ms | 21.0 MB | 5.00 MB | ≤ 21.9 MB, the last within 2 % of the first |",
     "| 10,000 | 15 | 15 | 20 % | 95.0 MB | 99.0 MB | < 290 MB |", "| stats, batch | 2026-11-21 | c |",
     "elah serve stats", "elah serve long", "elah serve live"].each { |line| assert_includes text, line }
  end

  def test_a_record_of_the_leaderboards_is_shown_with_its_targets
    results = [{ name: "rank", what: "score and rank of a member: requests/s, ÷ bare hyper",
                 figure: "0.61 (0.60–0.62)", target: "≥ 0.50" }]
    figures = { ranks: 1_600_000.4, loading_seconds: 1.234, p99_ratios: [1.1, 1.2, 1.0] }
    text = summary("leaderboards" => { machine: MACHINE, results: results },
                   "ranked_set" => { machine: MACHINE, figures: figures, command: "bench/ranked_set" }).whole
    ["| score and rank of a member: requests/s, ÷ bare hyper | 0.61 (0.60–0.62) | ≥ 0.50 |",
     "| ranks per second, one by one | 1,600,000 | ≥ 1,500,000 |",
     "| seconds until a stored set is loaded | 1.2 | ≤ 2 |", "| 1.1 (1.0–1.2) | ≤ 1.3 |",
     "bench/ranked_set", "bench/leaderboards rank"].each { |line| assert_includes text, line }
  end

  # A figure that a table rounds to its target is judged as it was measured.
  def test_every_target_that_was_missed_is_named
    ranks = { machine: MACHINE, figures: { ranks: 1_499_999.0, updates: 500_001.0, loading_seconds: 2.0 },
              command: "bench/ranked_set" }
    results = [{ name: "io-bound", what: "waiting", figure: "88 %", target: "≥ 90 %" },
               { name: "cpu-bound", what: "at once", figure: "999 answered, 1 failed", target: "0 failed" },
               { name: "cpu-bound", what: "ten at once", figure: "10 answered, 0 failed", target: "0 failed" }]
    text = summary("ranked_set" => ranks, "leaderboards" => { machine: MACHINE, results: results }).brief
    assert_includes text, "- Elah::RankedSet: ranks per second, one by one: 1,500,000 (target: ≥ 1,500,000)\n"
    assert_includes text, "- waiting: 88 % (target: ≥ 90 %)\n"
    assert_includes text, "- at once: 999 answered, 1 failed (target: 0 failed)\n"
    assert_equal 3, text.scan("target:").size
  end

  def test_a_record_that_reaches_its_targets_says_so
    ranks = { machine: MACHINE, figures: { ranks: 1_500_000.0 }, command: "bench/ranked_set" }
    assert_includes summary("ranked_set" => ranks).brief, "It missed none of its targets."
    assert_includes summary("ranked_set" => ranks).whole, "## Targets missed\n\nNone.\n"
  end

  def test_commands_with_targets_that_have_no_record_are_named
    ranks = { machine: MACHINE, figures: { ranks: 1_500_000.0 }, command: "bench/ranked_set" }
    text = summary("ranked_set" => ranks).brief
    assert_match %r{Not recorded yet, with their targets: .*`bench/sleeping`, `bench/link_creation`}, text
    refute_includes text, "`bench/ranked_set`"
  end

  def test_targets_of_contests_are_judged_by_their_medians
    ratios = { rate: spread(0.61), cpu: spread(0.55), p99: spread(2.04) }
    text = { title: "Text", workload: "text", target: 0.6, ratios: ratios }
    missed = [["Text: CPU, ÷ bare hyper", "1.8", "≤ 1.35"], ["Text: p99 at half load, ÷ bare hyper", "2.0", "≤ 2.0"]]
    assert_equal missed,
                 Bench::Targets.missed("ratios", { duels: [text] })
    batch = { title: "batch ÷ bare hyper", workload: "batch", target: nil, events: 100, events_target: 400_000,
              runs: { elah: [{ rate: 3999.0 }] }, ratios: { rate: spread(0.1), p95: spread(12) } }
    assert_equal [["apps/stats, batch ÷ bare hyper: events/s", "400,000", "≥ 400,000"],
                  ["apps/stats, batch ÷ bare hyper: p95", "12", "≤ 2.0"]],
                 Bench::Targets.missed("stats", { duels: [batch] })
  end

  def test_the_cost_of_a_handler_that_sleeps_and_of_a_created_link_are_judged
    runs = { elah: [{ rate: 9000.0, cpu_us: 15.2 }], bare: [{ rate: 9000.0, cpu_us: 11.0 }] }
    sleeping = { machine: MACHINE, connections: 500, runs: runs, cpu_ratio: spread(1.38),
                 commands: { elah: "e", bare: "b" } }
    links = { machine: MACHINE, ratios: { rate: spread(0.98), cpu: spread(1.2) }, commands: { elah: "e", fastify: "f" },
              runs: { elah: [{ rate: 9800.0, cpu_us: 90.0 }], fastify: [{ rate: 10_000.0, cpu_us: 110.0 }] } }
    text = summary("sleeping" => sleeping, "link_creation" => links).whole
    assert_includes text, "| A handler that sleeps 50 ms, 500 connections: µs CPU | 15 | ≤ 15 |"
    assert_includes text, "| Creation of a link, synced ÷ Fastify and LMDB, synced: links/s | 0.98 | ≥ 1 |"
    assert_includes text, "| Elah | 9,000 | 15 |  | ≤ 15 µs |"
    assert_includes text, "| Fastify and LMDB | 10,000 | 110 | 0.98 (0.98–0.98) | 1.2 (1.2–1.2) | ≥ 1 |"
  end

  # The first Ruby is what the others are compared with; those with YJIT have no target.
  def test_a_page_shows_the_rubies_and_a_target_is_judged
    runs = { "3.1.2": [{ rate: 50_000.0, cpu_us: 10.0 }], "3.1.2 with YJIT": [{ rate: 60_000.0, cpu_us: 9.0 }],
             "3.3.8": [{ rate: 49_000.0, cpu_us: 10.1 }] }
    ratios = { "3.1.2": spread(1), "3.1.2 with YJIT": spread(0.9), "3.3.8": spread(1.01) }
    contest = { contest: "text", title: "Text", runs: runs, ratios: ratios, targets: ["3.3.8"] }
    options = { rounds: 5, seconds: 4, warmup: 2, only: ["text"] }
    found = summary("rubies" => { machine: MACHINE, contests: [contest], options: options })
    assert_includes found.brief, "- Text: CPU on Ruby 3.3.8 ÷ 3.1.2: 1.0 (target: ≤ 1.0)\n"
    page = found.page("rubies")
    assert_includes page, "| Text | 3.1.2 with YJIT | 60,000 | 9.0 | 0.90 (0.90–0.90) |  |\n"
    assert_includes page, "| Text | 3.3.8 | 49,000 | 10 | 1.0 (1.0–1.0) | ≤ 1.0 |\n"
    assert_includes page, "\n2026-11-21, one, Linux: `bench/rubies --rounds 5 --seconds 4 --warmup 2`.\n"
    assert_equal "Not recorded yet: `bench/rails --record`.\n", found.page("rails")
  end

  def test_a_page_shows_rails_under_each_server
    runs = { Elah: [{ steady_rate: 900.0, rate: 1000.0, cpu_us: 800.0, private_bytes: 80_000_000 }],
             "Puma, 5 threads": [{ steady_rate: 80.0, rate: 99.0, cpu_us: 850.0, private_bytes: 70_000_000 }] }
    record = { machine: MACHINE, options: { rounds: 1 }, contests: [{ milliseconds: 50, bound_ms: 200, runs: runs }] }
    page = summary("rails" => record).page("rails")
    assert_includes page, "| 50 ms | Elah | < 200 ms | 900 | 1,000 | 800 | 80.0 MB |\n"
    assert_includes page, "| 50 ms | Puma, 5 threads | < 200 ms | 80 | 99 | 850 | 70.0 MB |\n"
  end

  def test_a_route_without_a_format_is_judged_by_its_instructions
    counts = { text: 20_000.0, untyped: 20_620.0 }
    missed = ["Route without `format` ÷ with `format :txt`: instructions", "1.0", "≤ 1.03"]
    assert_equal [missed], Bench::Targets.missed("instructions", { counts: { now: counts } })
    assert_empty Bench::Targets.missed("instructions", { counts: { now: { **counts, untyped: 20_600.0 } } })
    assert_empty Bench::Targets.missed("instructions", { counts: { now: { text: 20_000.0 } } })
  end

  private

  MACHINE = { date: "2026-11-21", commit: "c", cpu: "one", system: "Linux", ruby: "ruby 3.1.2p20", hyper: "1" }.freeze
  private_constant :MACHINE

  def spread(median) = { median: median, min: median, max: median }

  def summary(records)
    Bench::Summary.new(Struct.new(:folder, :records) { def read(name) = records[name] }.new("bench/record", records))
  end
end

class StatisticsTest < Minitest::Test
  def test_the_median_of_an_odd_and_an_even_number_of_runs
    assert_equal 2.0, Bench::Statistics.median([9, 1, 2])
    assert_equal 2.5, Bench::Statistics.median([9, 1, 2, 3])
    assert_equal({ median: 2.0, min: 1.0, max: 9.0 }, Bench::Statistics.spread([9, 1, 2]))
  end
end

class FiguresTest < Minitest::Test
  def test_a_measured_number_keeps_two_digits
    { 101_259 => "100,000", 9_949 => "9,900", 99.6 => "100", 9.96 => "10", 9.44 => "9.4", 1 => "1.0",
      0.098 => "0.098", 0 => "0", -15.4 => "-15" }.each do |number, text|
      assert_equal text, Bench::Figures.rounded(number)
    end
  end

  def test_memory_keeps_three_digits_and_a_count_all
    assert_equal "219 MB", Bench::Figures.megabytes(218_900_000)
    assert_equal "20.8 MB", Bench::Figures.megabytes(20_810_000)
    assert_equal "1,475,561", Bench::Figures.whole(1_475_561)
  end

  def test_a_text_keeps_its_whole_numbers
    assert_equal "1000 answered, the slowest after 11 ms",
                 Bench::Figures.rounded_text("1000 answered, the slowest after 11.2 ms")
  end
end
