# frozen_string_literal: true

require "support/sink_case"

# The ledger's transactions have a limit: a batch, the counts of an outage or a list of letters may have more rows.
class SinkSettlingTest < SinkCase
  # A row is a read and a write, and the store permits 100,000 operations.
  ROWS = 51_000
  LETTERS = 26_000

  def patience_seconds = 180

  # Accepts events with a stream each.
  #
  # @return [Array<String>] their IDs
  def accept(number)
    events = sink(deliver: false)
    Array.new(number) { |n| events.push("x", stream: "tenant-#{n}").id }.tap { events.close }
  end

  # All counts since the last batch went into one transaction. The store refused it, so the batch was repeated for ever.
  def test_after_an_outage_with_many_streams_the_events_are_delivered_once
    gone = true
    calls = Hash.new(0)
    events = sink(retry_max_seconds: 0.01) do |batch|
      raise Elah::Unavailable, "gone" if gone

      batch.each { |event| calls[event.stream] += 1 }
    end
    ROWS.times { |n| events.push("x", stream: "tenant-#{n}") }
    gone = false
    assert events.flush(wait_seconds: patience_seconds)
    assert_equal [ROWS, 1], [calls.size, calls.values.max]
    assert_predicate events.health, :ok?
    assert_equal [ROWS, ROWS, 0, 0], account(events)
  end

  # A worker that ends has stored some of the counts, and the next one adds the rest.
  def test_counts_of_which_a_part_is_stored_are_right_after_a_restart
    accept(ROWS)
    calls = 0
    events = sink(batch_events_max: 10_000) { |_| raise Elah::Unavailable, "gone" if (calls += 1) > 1 }.start
    wait_until("a batch is settled") { calls > 1 }
    assert_equal [ROWS, 10_000, ROWS - 10_000, 0], account(events)
    events.close
    events = sink { nil }.start
    assert events.flush(wait_seconds: patience_seconds)
    assert_equal [ROWS, ROWS, 0, 0], account(events)
  end

  # One letter was parked for each pass over the batch; to discard or replay many by their IDs was refused.
  def test_a_batch_of_very_many_dead_letters_is_parked_replayed_and_discarded
    ids = accept(LETTERS)
    sizes = []
    events = sink(batch_events_max: 100_000) do |batch|
      sizes << batch.size
      raise Elah::Sink::Rejected, batch.to_h { |event| [event.id, "no"] }
    end
    assert events.start.flush(wait_seconds: patience_seconds)
    assert_equal [LETTERS], sizes
    assert_equal [LETTERS, 0, 0, LETTERS], account(events)
    assert_equal LETTERS, events.replay(ids)
    assert events.flush(wait_seconds: patience_seconds)
    assert_equal [LETTERS, 0, 0, LETTERS], account(events)
    assert_equal LETTERS, events.discard(ids)
    assert_equal [0, 0, 0, 0], account(events)
  end

  def test_lost_events_of_any_number_of_streams_are_written_off
    events = sink { nil }
    events.ledger.write_off(Array.new(ROWS) { |n| [["tenant-#{n}", 1], 2] }.to_h)
    account = Elah::Sink::Account.of(events.folder, events.ledger)
    assert_equal [-2 * ROWS, ROWS, ROWS], [account.total.accepted, account.streams.size, account.missing.size]
  end
end
