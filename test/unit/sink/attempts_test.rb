# frozen_string_literal: true

require "openssl"
require "support/gems"
require "support/sink_case"

# What an exception of a destination says about the events of its batch, and when a destination is called.
class SinkAttemptsTest < SinkCase
  # Each waiting event became a dead letter at once while the PostgreSQL of a cluster or of ActiveRecord restarted, a
  # name could not be resolved, or a TLS connection was lost.
  def test_errors_of_a_server_that_is_away_are_no_fault_of_an_event
    errors = [Elah::Store::Unavailable, Elah::Store::CannotOpen, Elah::Store::Fenced, Elah::Sink::CannotOpen,
              SocketError, OpenSSL::SSL::SSLError].map { |error_class| error_class.new("away") }
    errors << PG::ConnectionBad.new("away") if Gems.missing("pg").nil? && require("pg")
    raised = errors.dup
    delivered = []
    events = sink do |batch|
      error = raised.shift and raise error
      delivered.concat(batch.map(&:bytes))
    end
    events.push_all(%w[1 2 3])
    assert events.flush
    assert_equal %w[1 2 3], delivered
    assert_equal errors.size, @pauses.size, "each was followed by a pause"
    assert_equal [3, 3, 0, 0], account(events)
  end

  # The rejection counted as the verdict of the outer block: the events after the rejected one were never processed, and
  # told as delivered.
  def test_an_event_that_another_sink_rejects_ends_no_batch
    [true, false].each do |has_same_id|
      inner = sink("inner-#{has_same_id}") { |batch| batch.each { |event| Integer(event.bytes) } }
      processed = []
      outer = sink("outer-#{has_same_id}") do |batch|
        batch.each do |event|
          inner.push(event.bytes, id: (event.id if has_same_id), durability: :delivered)
          processed << event.bytes
        end
      end
      outer.push_all(%w[1 two 3 4 5])
      assert outer.flush
      assert_equal %w[1 3 4 5], processed.uniq.sort
      assert_equal ["two"], outer.dead_letters.map(&:bytes)
      assert_equal [5, 4, 0, 1], account(outer)
    end
  end

  def test_reasons_for_events_of_another_batch_are_no_verdict
    processed = []
    events = sink do |batch|
      bad = batch.any? { |event| event.bytes == "bad" }
      raise Elah::Sink::Rejected.new(Elah::Sink.id_of("another") => "odd") if bad

      processed.concat(batch.map(&:bytes))
    end
    events.push_all(%w[a bad b])
    assert events.flush
    assert_equal %w[a b], processed.sort
    assert_equal [3, 2, 0, 1], account(events)
  end

  # Pretends to be a PostgreSQL and notes the IDs that are inserted.
  class Tables
    attr_reader :ids

    def initialize = @ids = []
    def postgres? = true
    def transaction = yield(self)
    def execute(_statement, *values) = @ids.concat(values.each_slice(2).map(&:first))
  end

  # The block of a table sees one event: its verdict about that one told all others of the batch as stored.
  def test_a_block_for_one_event_settles_no_other
    tables = Tables.new
    row = lambda do |event|
      raise Elah::Sink::Rejected.new(event.id => "it is bad") if event.bytes == "bad"

      [event.bytes]
    end
    events = sink(to: Elah::Sink::SQLTable.new(tables, "visits", columns: %w[text], &row))
    receipt = events.push_all(%w[a bad b c])
    assert events.flush
    assert_equal receipt.ids.values_at(0, 2, 3), tables.ids
    assert_equal ["ArgumentError: it is bad"], events.dead_letters.map(&:reason)
  end

  # What a destination removed from its Array or its data was gone for the next attempt: events that were confirmed were
  # lost, or delivered without their IDs.
  def test_an_attempt_may_change_what_it_got
    taken = Queue.new
    events = sink(retry_seconds: 0.01) do |batch|
      rows = batch.map { |event| event.data.is_a?(String) ? event.data.slice!(0, 9) : event.data.delete("id") }
      batch.clear
      raise Elah::Unavailable, "away" if taken.empty? && (taken << nil)

      taken << rows
    end
    events.push_all([{ id: 1 }, "bytes", { id: 3 }])
    assert events.flush
    assert_equal [nil, [1, "bytes", 3]], [taken.pop, taken.pop]
    assert_equal [3, true], [events.report["total"]["delivered"], events.report["holds"]]
  end

  def test_the_bytes_of_an_event_are_frozen
    events = sink { |batch| batch.each { |event| event.bytes << "!" } }
    events.push("bytes")
    assert events.flush
    assert_equal ["bytes"], events.dead_letters.map(&:bytes)
  end

  # The own journal and one of a process that was gone were delivered at once: an object with one connection mixed the
  # two batches up.
  def test_one_batch_at_a_time_is_delivered
    left = sink(deliver: false)
    left.push_all(Array.new(20) { |n| "left #{n}" })
    inside = most = 0
    own = sink(batch_events_max: 1) do |_|
      most = [most, inside += 1].max
      5.times { pause(0) }
      inside -= 1
    end
    own.push_all(Array.new(20) { |n| "own #{n}" })
    left.close
    wait_until("all are settled") { account(own) == [40, 40, 0, 0] }
    assert_equal 1, most
  end

  # Nobody could take it over as long as the child lived.
  def test_a_fork_during_the_delivery_of_an_adopted_journal_keeps_it_from_nobody
    left = sink(deliver: false)
    left << "left"
    begun, gate = Array.new(2) { Queue.new }
    events = sink { |batch| (begun << batch.first.bytes) && gate.pop }
    events << "own"
    assert_equal "own", begun.pop
    left.close
    gate << true
    assert_equal "left", begun.pop
    input, output = IO.pipe
    child = fork { output.close || input.read }
    open_files = Dir.children("/proc/#{child}/fd").map { |number| File.readlink("/proc/#{child}/fd/#{number}") }
    assert_empty open_files.grep(%r{/journal-\d+/})
    refute_empty open_files
  ensure
    2.times { gate << true }
    output.close
    Process.wait(child)
  end

  # The lock of a delivery that ran during the fork belonged to a fiber that never runs in the child.
  def test_a_fork_during_a_delivery_delivers_its_own_events
    begun, gate = Array.new(2) { Queue.new }
    parent = Process.pid
    events = sink do |_|
      next unless Process.pid == parent

      begun << true
      gate.pop
    end
    Elah.run do
      events << "parent"
      Elah.timeout(patience_seconds) { begun.pop }
      child = fork do
        events << "child"
        exit!(events.flush(wait_seconds: patience_seconds) ? 0 : 1)
      end
      assert_predicate Process.wait2(child).last, :success?
      2.times { gate << true }
    end
  end
end
