# frozen_string_literal: true

require "test_helper"
require_relative "../../support/lab_case"

# From a small record to the page.
class LabReportTest < Minitest::Test
  include LabCase

  ABOUT = { started_at: "2026-01-02T03:04:05Z", command: "bin/lab", plan: { name: "tiny", rounds: 2 },
            notices: ["One core only."], absent: { falcon: "only RubyGems has it" },
            machine: { cpu: "2 × CPU", system: "Debian", ruby: "ruby 3.1.2p20" },
            contenders: { elah: { title: "Elah", kind: "Ruby", version: "0.1" },
                          bare_hyper: { title: "bare hyper", kind: "Rust", version: "1.12" },
                          puma: { title: "Puma <5>", kind: "Ruby", version: "5.6" },
                          thin: { title: "Thin", kind: "Ruby", version: "1.8" } },
            workloads: { hello: { title: "a text", contract: "specs/plain.yml", cases: ["a text"],
                                  connections: [64], headline: 64, rate: 1000 } } }.freeze

  def run_of(contender, round, rate, p99: 1000.0, memory: 30_000_000, **more)
    { workload: "hello", contender: contender, round: round, at: "2026-01-02T03:04:05Z", command: "run #{contender}",
      memory: { proportional_bytes: memory, anonymous_bytes: memory },
      saturated: [{ connections: 64, rate: rate, cpu_us: 1e6 / rate, p99_us: 5, errors: {}, server_share: 1,
                    generator_share: 0.5, foreign_share: 0.1, generator_limited: false, command: "wrk" }],
      paced: [{ at: "same", rate: 1000, answered_rate: 1000,
                latency_us: { p50: 300.0, p99: p99, "p99.9": p99 * 2 },
                spectrum: [[0.0, 100.0], [0.5, 300.0], [0.99, p99], [1.0, p99 * 3]],
                errors: {}, command: "elah-load" }],
      contract: { passed: 1, total: 3, failures: {} }, **more }
  end

  def record
    @record ||= Lab::Record.create(ABOUT, parent: @folder).tap do |record|
      [1000.0, 1200.0, 1400.0].each_with_index { |rate, index| record.append(run_of("elah", index + 1, rate)) }
      record.append(run_of("bare_hyper", 1, 2000.0, memory: 3_000_000))
      record.append(run_of("puma", 1, 100.0, p99: 500.0))
      record.append({ workload: "hello", contender: "thin", round: 1, saturated: [], paced: [],
                      failure: { step: "start", message: "it <ended>" } })
    end
  end

  def summary = @summary ||= Lab::Summary.new(record)
  def row(name) = summary.workloads.first[:rows].find { |row| row[:contender] == name }

  def test_medians_ranges_and_ratios
    elah = row("elah")
    assert_equal({ median: 1200.0, min: 1000.0, max: 1400.0 }, elah[:rate])
    assert_in_delta 0.6, elah[:of_yardstick]
    assert_in_delta 1 / 12.0, row("puma")[:of_subject]
    assert_equal %w[bare_hyper elah puma thin], summary.workloads.first[:rows].map { |one| one[:contender] }
    assert_equal [1000.0, 1200.0, 1400.0], elah[:rates], "every run is kept"
  end

  def test_where_elah_loses_is_never_left_out
    losses = summary.losses.map { |loss| loss.values_at(:title, :measure) }
    assert_includes losses, ["bare hyper", :rate]
    assert_includes losses, ["bare hyper", :memory_bytes]
    assert_includes losses, ["Puma <5>", :p99_us]
    refute_includes losses, ["Puma <5>", :rate]
  end

  def test_a_run_without_an_answer_has_no_latency
    silent = run_of("thin", 2, 10.0)
    silent[:paced].first.merge!(answered_rate: 0.0, latency_us: { p50: 0.0, p99: 0.0, "p99.9": 0.0 })
    record.append(silent)
    assert_nil row("thin")[:p99_us]
  end

  def test_what_the_generator_may_have_limited_is_marked
    assert_equal 2000.0, summary.ceiling
    assert_equal [], row("puma")[:marks]
    record.append(run_of("puma", 2, 1900.0))
    @summary = nil
    assert_equal [], row("puma")[:marks], "the median counts"
    2.times { record.append(run_of("puma", 3, 1900.0)) }
    @summary = nil
    assert_equal ["ceiling"], row("puma")[:marks]
  end

  def test_the_ceiling_of_the_generator_is_a_row_and_decides_what_is_marked
    record.append({ workload: "hello", contender: "bare_hyper", ceiling: true,
                    saturated: [{ connections: 64, rate: 1600.0 }] })
    assert_equal 1600.0, summary.ceiling("hello")
    assert_equal %w[bare_hyper elah puma thin], summary.workloads.first[:rows].map { |one| one[:contender] },
                 "it is no run of a contender"
    assert_equal 2000.0, row("bare_hyper")[:rate][:median]
    assert_equal ["ceiling"], row("elah")[:marks]
    assert_equal [], row("puma")[:marks]
    assert_match(/the generator's ceiling\) +\| +1,600 /, Lab::Table.new(summary).to_s)
    assert_includes File.read(Lab::Report.new(summary).write(record)), "the generator's ceiling"
  end

  def test_private_memory_is_shown
    assert_match(/\| Elah .*\| +30\.0 \| +\|/, Lab::Table.new(summary).to_s)
  end

  def test_private_memory_of_a_record_without_anonymous_memory_is_what_no_process_shares
    record.append(run_of("thin", 2, 10.0).merge(memory: { proportional_bytes: 9, private_bytes: 7 }))
    assert_equal 7.0, row("thin")[:private_bytes][:median]
    assert_equal 30_000_000.0, row("elah")[:private_bytes][:median]
  end

  def test_the_page_needs_nothing_besides_itself_and_escapes_what_came_from_outside
    page = File.read(Lab::Report.new(summary).write(record))
    refute_match(/<script|<link|src=|url\(|https?:/, page)
    assert_includes page, "Puma &lt;5&gt;"
    refute_includes page, "Puma <5>"
    ["One core only.", "only RubyGems has it", "it &lt;ended&gt;", "Where we lose", "<svg", "elah-load"].each do |text|
      assert_includes page, text
    end
    json = JSON.parse(File.read(record.file("report.json")))
    assert_equal 1200.0, json["workloads"][0]["rows"][1]["rate"]["median"]
  end

  # What lab/check_generators writes.
  def test_the_page_shows_the_check_of_the_generators_where_there_was_one
    rows = [{ tool: "wrk", load: "saturation, 64 connections",
              rate: 123_456.7, p50_us: nil, p99_us: nil, p999_us: nil },
            { tool: "vegeta", load: "2000 requests/s planned, 64 connections",
              rate: 1999.9, p50_us: 151.2, p99_us: 390.5, p999_us: nil }]
    check = written("check.json",
                    JSON.generate({ at: "2026-01-02", command: "lab/check_generators", machine: {}, rows: rows }))
    page = Lab::Report::Page.new(summary, record, generator_check: check).to_s
    ["2026-01-02; <code>lab/check_generators</code>",
     "<td>wrk</td><td class=\"text\">saturation, 64 connections</td><td>120,000</td><td>–</td>",
     "<td>2,000</td><td>150</td><td>390</td><td>–</td>"].each { |text| assert_includes page, text }
    refute_includes Lab::Report::Page.new(summary, record, generator_check: File.join(@folder, "none.json")).to_s,
                    "lab/check_generators"
  end

  def test_a_record_without_a_single_figure_still_gives_a_page
    empty = Lab::Record.create(ABOUT, parent: @folder, now: Time.utc(2000))
    empty.append({ workload: "hello", contender: "thin", round: 1, saturated: [], paced: [],
                   failure: { step: "start", message: "gone" } })
    assert_includes File.read(Lab::Report.new(Lab::Summary.new(empty)).write(empty)), "gone"
    assert_includes Lab::Table.new(Lab::Summary.new(empty)).to_s, "failed: start"
  end

  def test_the_table_has_medians_and_ranges
    assert_match(/\| Elah +\| +1,200 \(1,000–1,400\) \| +0\.60 \|/, Lab::Table.new(summary).to_s)
  end

  def test_in_short_a_record_without_apis_has_a_row_for_each_server
    plain = Lab::Record.create(ABOUT, parent: @folder, now: Time.utc(2002))
    [1, 2].each { |round| plain.append(run_of("elah", round, 1234.0)) }
    assert_match(/\| Elah +\| +1,200\*? \|/, Lab::Overview.new(plain, Lab::Summary.new(plain)).to_s)
  end

  def test_in_short_workloads_stand_below_each_other_and_servers_beside_each_other
    links = ABOUT[:workloads][:hello].merge(title: "a redirect", contract: "specs/links.yml")
    both = Lab::Record.create({ **ABOUT, workloads: { **ABOUT[:workloads], links: links } }, parent: @folder,
                                                                                             now: Time.utc(2001))
    [1, 2].each do |round|
      both.append(run_of("elah", round, 1200.0))
      both.append(run_of("puma", round, 100.0))
      both.append({ **run_of("puma", round, 2000.0), workload: "links" })
      both.append({ **run_of("elah", round, 1000.0), workload: "links" })
    end
    both.append({ workload: "links", contender: "thin", round: 1, saturated: [], paced: [],
                  failure: { step: "start", message: "gone" } })
    text = Lab::Overview.new(both, Lab::Summary.new(both)).to_s
    assert_match(/\| +\| +Elah \| +Puma <5> \| +Thin \| what +\|/, text)
    assert_match(/\| hello \| +1,200\*? \| +100 \| +– \| a text, 64 connections +\|/, text)
    assert_match(/\| links \| +1,000\*? \| +2,000\*? \| failed: start \| a redirect, 64 connections \|/, text)
    assert_includes text, "One core only."
    assert_includes text, "`bin/lab` repeats it."
    refute_includes text, "to the end"
  end

  def test_in_short_what_was_cut_off_is_named_and_not_shown
    text = Lab::Overview.new(record, summary).to_s
    assert_includes text, "Not measured to the end: hello."
    refute_includes text, "| Elah"
  end

  def test_axes_have_round_values
    assert_equal [0, 50, 100, 150, 200], Lab::Report::Scale.new([180], from: 0, to: 100).ticks
    log = Lab::Report::Scale.new([3, 900], from: 0, to: 300, log: true)
    assert_equal [1, 10, 100, 1000], log.ticks
    assert_in_delta 100, log.place(10)
    assert_in_delta 0, log.place(0.01)
    assert_equal [0.0, 0.2, 0.4, 0.6, 0.8, 1.0].size, Lab::Report::Scale.new([], from: 0, to: 1).ticks.size
  end
end
