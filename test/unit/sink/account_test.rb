# frozen_string_literal: true

require "support/sink_case"

# The conservation law by stream and minute, and what is summed up.
class SinkAccountTest < SinkCase
  MINUTE = 100_000 # that of the clock when a test begins

  def law(sink, minutes: 1_000_000) = Elah::Sink::Account.of(sink.folder, sink.ledger, minutes: minutes)

  def sums(sink) = law(sink).sums.transform_values(&:to_a)

  def test_every_stream_and_minute_has_its_own_sums
    events = sink { |batch| raise Elah::Unavailable, "gone" if batch.any? { |event| event.stream == "b" } }
    events.push_all(["x"] * 3, stream: "a")
    assert events.flush
    @clock.advance(60)
    events.push_all(["x"] * 2, stream: "b")
    events << "x"
    assert_equal({ ["a", MINUTE] => [3, 3, 0, 0], ["b", MINUTE + 1] => [2, 0, 2, 0], ["", MINUTE + 1] => [1, 0, 1, 0] },
                 sums(events))
  end

  def test_old_minutes_are_summed_up_also_those_of_late_events
    gone = true
    events = sink(minutes_max: 2, batch_events_max: 1) do |batch|
      raise Elah::Unavailable, "gone" if gone && batch.first.bytes == "late"
    end
    events << "early"
    assert events.flush
    events << "late"
    @clock.advance(600)
    other = sink("events", minutes_max: 2) { |_| nil }
    other.push("now")
    assert other.flush
    wait_until("the old minute is summed up") { sums(other).keys.none? { |_, minute| minute == MINUTE } }
    assert_equal [3, 2, 1, 0], account(other)
    assert_equal({ ["", MINUTE + 10] => [1, 1, 0, 0] }, sums(other))
    gone = false
    assert events.flush
    assert_equal [3, 3, 0, 0], account(other)
    assert_equal({ ["", MINUTE + 10] => [1, 1, 0, 0] }, sums(other))
  end

  def test_a_clock_that_jumps_back_loses_nothing
    clock = Elah::Store::Clock.new(Time.at(6_000_000 - 3600))
    events = sink { |_| nil }
    events << "1"
    assert events.flush
    earlier = sink("events", clock: clock) { |_| nil }
    earlier << "2"
    assert earlier.flush
    assert_equal [2, 2, 0, 0], account(events)
    assert_equal [MINUTE - 60, MINUTE], sums(events).keys.map(&:last).sort
  end

  # The report reads a journal while its owner appends, settles and deletes segments.
  def test_the_law_holds_at_every_look_while_events_come_and_go
    events = sink(journal_bytes_max: 262_144, event_bytes_max: 1000, batch_events_max: 50) { |_| nil }
    writer = Thread.new do
      6000.times do |n|
        events.push("x" * 200, stream: "s#{n % 3}", durability: (n % 500).zero? ? :delivered : :memory)
      end
    end
    looks = 0
    while writer.alive?
      account(events)
      looks += 1
    end
    writer.join
    assert events.flush
    assert_equal [6000, 6000, 0, 0], account(events)
    assert_operator looks, :>, 3
  end

  def test_the_report_shows_the_last_minutes_one_by_one
    events = sink { |_| nil }
    events.push("x", stream: "a")
    @clock.advance(120)
    events.push("x", stream: "a")
    assert events.flush
    report = events.report(minutes: 2)
    row = { "accepted" => 1, "delivered" => 1, "queued" => 0, "dead" => 0 }
    minute = { "minute" => "1970-03-11T10:42Z", **row }
    assert_equal({ "total" => row.merge("accepted" => 2, "delivered" => 2), "minutes" => [minute] },
                 report["streams"]["a"])
    assert_equal ["events", true, 0, 0], report.values_at("sink", "holds", "dead_letters", "damaged_segments")
  end

  # Rows of so many streams in each of these minutes, with as many delivered events as accepted ones.
  def fill(ledger, minutes, streams)
    rows = minutes.flat_map { |minute| Array.new(streams) { |n| ["tenant-#{n}", minute] } }
    [-1, 1].each { |change| ledger.write_off(rows.to_h { |row| [row, change] }) }
  end

  # Every row of the ledger was read in one piece, whatever the minutes of the report: a worker with many streams stood
  # still for seconds and needed hundreds of megabytes.
  def test_a_report_reads_the_minutes_that_it_lists
    events = sink { nil }
    fill(events.ledger, 1..200, 50)
    events.report(minutes: 1)
    before = GC.stat(:total_allocated_objects)
    report = events.report(minutes: 1)
    assert_operator GC.stat(:total_allocated_objects) - before, :<, 10_000, "objects, for 10,000 rows"
    assert_equal [50, 50], [report["streams"].size, report["streams"].values.sum { |stream| stream["minutes"].size }]
  end

  # It ended the report, the adoption of journals and the command.
  def test_names_of_any_bytes_stand_beside_the_journals
    events = sink { nil } << "x"
    assert events.flush
    Dir.mkdir(File.join(events.folder, "journal-7\xFF"))
    assert_equal 1, events.report["total"]["delivered"]
  end

  def test_other_fibers_run_while_the_minutes_are_read
    ledger = sink { nil }.ledger
    fill(ledger, 1..200, 50)
    Elah.run do
      turns = 0
      other = Elah.async { loop { (turns += 1) && Fiber.scheduler.yield } }
      seen = ledger.view { |view| view.counts.enum_for(:each_minute, view.tx, 1).map { turns } }
      other.cancel
      assert_equal [10_000, 20], [seen.size, seen.uniq.size]
    end
  end

  # Neither side of a fork could open the ledger again, which the report had open.
  def test_a_fork_during_a_report_holds_up_neither_side
    events = sink { |_| nil }
    forks = [lambda {
      pid = fork { exit!((events.push("x", durability: :disk) rescue nil) ? 0 : 1) }
      assert_predicate Process.wait2(pid).last, :success?
      events.push("y", durability: :disk)
    }]
    events.ledger.define_singleton_method(:now_minute) { forks.pop&.call.then { super() } }
    assert_equal 2, law(events).total.accepted
    assert_empty forks
  end

  # Its event was in neither: the ledger had been read before it was delivered, the journal afterwards.
  def test_a_journal_that_is_delivered_to_its_end_during_a_report_is_counted
    left = sink(deliver: false) << "x"
    left.close
    events = sink(deliver: false)
    journals = File.join(events.folder, "journal-*/*.segment")
    deliver = [lambda {
      sink { nil } << "y"
      wait_until("both are delivered") { Dir.glob(journals).one? }
    }]
    ledger = events.ledger
    ledger.define_singleton_method(:view) { |&block| super() { |view| deliver.pop&.call.then { block.call(view) } } }
    assert_equal [2, 2, 0, 0], account(events)
  end

  # It had a row of its own, without what else the minute had.
  def test_a_queued_event_of_a_minute_that_is_not_listed_has_no_row
    events = sink { raise Elah::Unavailable, "gone" }
    events.push("x", stream: "tenant-0")
    fill(events.ledger, MINUTE..MINUTE, 1)
    fill(events.ledger, MINUTE + 1..MINUTE + 1, Elah::Sink::Account::ROWS_MAX)
    assert_equal [MINUTE + 1], sums(events).keys.map(&:last).uniq
    assert_equal 1, law(events).total.queued
  end

  def test_a_report_has_at_most_so_many_rows_of_minutes
    events = sink { nil }
    fill(events.ledger, 1..1, Elah::Sink::Account::ROWS_MAX)
    fill(events.ledger, 2..2, 10)
    sums = sums(events)
    assert_equal [Elah::Sink::Account::ROWS_MAX, 10], [sums.size, sums.count { |(_, minute), _| minute == 2 }]
  end

  def test_an_event_that_is_missing_in_a_minute_that_is_not_listed_breaks_the_law
    events = sink { nil }
    fill(events.ledger, 1..3, 1)
    assert_predicate law(events, minutes: 1), :holds?
    events.ledger.write_off({ ["tenant-0", 1] => -1, ["tenant-0", 2] => 1 })
    assert_equal({ ["tenant-0", 1] => 1, ["tenant-0", 2] => -1 }, law(events, minutes: 1).missing)
    refute_predicate law(events, minutes: 1), :holds?
  end

  # One event of a time in the future ended the minutes of the report until that time.
  def test_a_clock_that_was_ahead_hides_no_minute
    now = Time.now.to_i / 60
    [{ deliver: false }, {}].each do |options|
      name = "events#{options.size}"
      ahead = sink(name, clock: Elah::Store::Clock.new(Time.now + (400 * 86_400)), **options) { |_| nil }
      ahead << "ahead"
      ahead.flush if options.empty?
      ahead.close
      events = sink(name, clock: nil) { |_| nil }.start
      3.times { events.push("x", durability: :delivered) }
      assert_equal [4, 4, 0, 0], account(events)
      minutes = law(events, minutes: 60).sums.keys.map(&:last)
      assert minutes.any? { |minute| (now..now + 60).cover?(minute) }, minutes.inspect
    end
  end
end
