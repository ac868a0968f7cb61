# frozen_string_literal: true

require "support/sink_case"

# The conservation law by stream and minute, and what is summed up.
class SinkAccountTest < SinkCase
  MINUTE = 100_000 # that of the clock when a test begins

  def sums(sink) = Elah::Sink::Account.of(sink.folder, sink.ledger).sums.transform_values(&:to_a)

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
    assert_equal [2, 1, 1, 0], sums(other)[["", 0]]
    gone = false
    assert events.flush
    assert_equal({ ["", 0] => [2, 2, 0, 0], ["", MINUTE + 10] => [1, 1, 0, 0] }, sums(other))
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
end
