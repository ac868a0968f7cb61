# frozen_string_literal: true

require "test_helper"
require "support/sink_case"
require_relative "../service"

# Processing in one process: duplicates, batches, a clock that jumps back, expiry, quotas.
class EventProcessorTest < SinkCase
  def setup
    super
    @store = Elah::Store.open(File.join(@folder, "store"), clock: @clock)
    @service = service(@clock)
  end

  # @param clock [Elah::Store::Clock] says when an event was accepted
  def service(clock, **options)
    given = { folder: File.join(@folder, "stats"), clock: clock, pause: method(:pause), linger_seconds: 0.0,
              adopt_seconds: ADOPT_SECONDS }
    Stats::Service.new(@store, sink: given.merge(options)).tap { |made| @sinks << made.sink }
  end

  def teardown
    super
  ensure
    @store.close
  end

  def event(path, **members)
    { "type" => "request", "path" => path, "visitor" => nil, "bot" => nil, "headers" => {}, "params" => {},
      **members.transform_keys(&:to_s) }
  end

  def push(events, **options) = @service.sink.push_all(events, durability: :delivered, wait_seconds: 120, **options)

  def rows(per, by) = @service.rollups.rows(per, by, from: 0, to: 1 << 32, limit: 5000).first

  def test_a_repeated_event_counts_once
    receipt = push([event("/a"), event("/b")])
    push([event("/a"), event("/b"), event("/c")], ids: [*receipt.ids, Elah::Sink.id_of("c")])
    push([event("/c")] * 2, ids: [Elah::Sink.id_of("c")] * 2)
    assert_equal [["/a", 1], ["/b", 1], ["/c", 1]], (rows("minute", "path").map { |row| [row.value, row.events] })
    assert_equal [3, 3], [@service.rollups.offset, @service.archive.size]
    assert_equal [7, 7, 0, 0], account(@service.sink)
  end

  def test_values_beyond_the_limit_are_counted_together
    push(Array.new(Stats::Rollups::VALUES_MAX + 7) { |n| event("/#{n}") } + [event("/0"), event("/#{'x' * 300}")])
    found = rows("day", "path").to_h { |row| [row.value, row.events] }
    assert_equal [Stats::Rollups::VALUES_MAX + 1, 8, 2], [found.size, found["(other)"], found["/0"]]
    fresh = Stats::Rollups.new(@store)
    assert_equal Stats::Rollups::VALUES_MAX + 9, fresh.offset
  end

  def test_a_clock_that_jumps_back_counts_in_the_minutes_that_it_shows
    at = @clock.now.to_i
    [0, -3600, 3600].each do |seconds|
      @service.sink.close
      @service = service(Elah::Store::Clock.new(Time.at(at + seconds)))
      push([event("/a")])
    end
    assert_equal [at - 3600, at, at + 3600].map { |time| time / 60 * 60 }, rows("minute", "total").map(&:at)
    assert_equal [1, 1, 1], rows("minute", "total").map(&:events)
    assert_equal [3, 3, 0, 0], account(@service.sink)
  end

  def test_visitors_of_a_day_are_counted_once
    push([event("/a", visitor: "1" * 32), event("/b", visitor: "1" * 32), event("/a", visitor: "2" * 32), event("/a")])
    push([event("/a", visitor: "1" * 32)])
    assert_equal [5, 2], rows("day", "total").first.to_a.values_at(2, 4)
  end

  # It counted twice when the second event was processed more than two days later, as after a destination's weekend.
  def test_a_visitor_of_a_day_is_counted_once_although_an_event_is_processed_days_later
    @service.schemas.put("late", { "required" => ["never"] })
    @service.sink.push_all([{}, { "event" => "late" }].map { |params| event("/a", visitor: "1" * 32, params: params) })
    @service.sink.flush
    @clock.advance(6 * 86_400)
    @service.schemas.delete("late")
    assert_equal 1, @service.parked.release("late")
    @service.sink.flush
    assert_equal [2, 1], rows("day", "total").first.to_a.values_at(2, 4)
  end

  def test_an_erasure_forgets_on_which_days_the_visitor_was_seen
    push(["1", "2"].map { |visitor| event("/a", visitor: visitor * 32) })
    seen = @store.table("seen_visitors")
    assert_equal 2, seen.size
    @service.erasure.erase("1" * 32)
    assert_equal ["2" * 32], (seen.range.map { |key, _| key[0, 32] })
  end

  def test_events_expire_and_sums_stay
    push([event("/a", visitor: "1" * 32)])
    @clock.advance(31 * 86_400)
    assert_empty @service.archive.of_visitor("1" * 32)
    assert_empty rows("minute", "total")
    assert_equal 1, rows("day", "total").first.events
    @store.sweep
    assert_equal 0, @service.archive.size
  end

  # A sink whose events are processed as those of the service, with a destination.
  def sink_to(destination)
    parts = { archive: @service.archive, rollups: @service.rollups, schemas: @service.schemas,
              destination: destination }
    processor = Stats::EventProcessor.new(@store, **parts)
    sink("direct") { |given| processor.deliver(given) }
  end

  # A destination at which a visitor is erased while it stores that visitor's events. Then it is away so many times.
  class ErasedMeanwhile
    attr_reader :stored

    def initialize(archive, away: 0)
      @archive = archive
      @away = away
      @stored = {}
    end

    def deliver(events)
      events.each do |event|
        @archive.erase(event.data["visitor"]) if event.data["visitor"]
        @stored[event.id] = event.data["path"]
      end
    end

    def remove(_visitor, ids)
      raise Elah::Unavailable, "away" if (@away -= 1) >= 0

      ids.each { |id| @stored.delete(id) }
    end
  end

  # An erasure used to miss the events that were checked before it began and stored after it ended.
  def test_the_events_of_a_visitor_who_is_erased_while_they_are_processed_are_not_kept
    archive = @service.archive
    destination = ErasedMeanwhile.new(archive)
    events = sink_to(destination)
    events.push_all([event("/a", visitor: "1" * 32), event("/b")], durability: :delivered, wait_seconds: 120)
    assert_equal [[], 1, ["/b"]], [archive.of_visitor("1" * 32), archive.size, destination.stored.values]
  end

  # When the destination could not remove it, the repeated batch no longer had the event, which stayed there for ever.
  def test_an_event_that_reached_the_destination_after_its_visitor_was_erased_is_removed_by_a_later_attempt
    destination = ErasedMeanwhile.new(@service.archive, away: 1)
    events = sink_to(destination)
    events.push_all([event("/a", visitor: "1" * 32), event("/b")], durability: :delivered, wait_seconds: 120)
    assert_equal ["/b"], destination.stored.values
  end

  # A destination that rejects every event, and at which visitors are erased meanwhile.
  class RejectingMeanwhile < ErasedMeanwhile
    def deliver(events)
      super
      raise Elah::Sink::Rejected, events.to_h { |event| [event.id, "too long"] }
    end
  end

  # They were parked after the erasure had looked through the parked events.
  def test_the_rejected_events_of_a_visitor_who_is_erased_while_they_are_processed_are_not_parked
    events = sink_to(RejectingMeanwhile.new(@service.archive))
    events.push_all([event("/a", visitor: "1" * 32), event("/b")])
    events.flush
    assert_equal ["/b"], (events.dead_letters.map { |letter| Elah::JSON.parse(letter.bytes)["path"] })
  end

  # What a test does while a rejected event waits for room among the parked ones.
  def pause(seconds)
    meanwhile, @meanwhile = @meanwhile, nil if !seconds.equal?(ADOPT_SECONDS) && @service&.sink&.health&.stuck?
    meanwhile&.call
    super
  end

  # Two events break their schema, and there is room for one.
  def park_two(&meanwhile)
    @service.sink.close
    @service = service(@clock, dead_max: 1)
    @service.schemas.put("late", { "required" => ["never"] })
    %w[1 2].each do |visitor|
      @meanwhile = meanwhile if visitor == "2"
      @service.sink.push_all([event("/a", visitor: visitor * 32, params: { "event" => "late" })])
      assert @service.sink.flush
    end
    assert @service.sink.flush
  end

  # They stayed, since nobody looked at them after they were parked.
  def test_events_that_are_parked_after_their_schema_was_deleted_are_released
    park_two do
      @service.schemas.delete("late")
      @service.parked.release("late")
    end
    assert_empty @service.sink.dead_letters
    assert_equal [2, 2], rows("day", "total").first.to_a.values_at(2, 4)
  end

  # It could not be read again: no parked event was released any more, and whoever changed a schema got a 400.
  def test_a_parked_event_of_any_number_of_names_is_released
    @service.schemas.put("late", { "required" => ["never"] })
    params = Array.new(65_537) { |n| ["n#{n}", 1] }.to_h.merge("event" => "late")
    @service.sink.push_all([event("/a", params: params), event("/b", params: { "event" => "late" })])
    assert @service.sink.flush
    assert_equal [2, 0, 0, 2], account(@service.sink)
    @service.schemas.put("late", {})
    assert_equal 2, @service.parked.release("late")
    assert @service.sink.flush
    assert_equal [2, 2, 0, 0], account(@service.sink)
  end

  def test_events_that_are_parked_after_their_visitor_was_erased_are_discarded
    park_two { %w[1 2].each { |visitor| @service.erasure.erase(visitor * 32) } }
    assert_empty @service.sink.dead_letters
    assert_equal [0, 0, 0, 0], account(@service.sink)
  end

  # A batch that was too large used to take what was left, so that the key could send nothing until the minute was over.
  def test_a_quota_is_for_a_minute_and_what_is_refused_takes_nothing_from_it
    now = 119
    quota = Stats::Quota.new(@store, clock: -> { now })
    key = Stats::Keys::Key.new("shop", 5)
    assert_equal [5, 2, 1, true], quota.take(key, 3).to_a
    assert_equal [5, 2, 1, false], quota.take(key, 3).to_a
    assert_equal [5, 0, 1, true], quota.take(key, 2).to_a
    assert_equal [5, 0, 1, false], quota.take(key, 1).to_a
    now += 1
    assert_equal [5, 0, 60, true], quota.take(key, 5).to_a
    assert_equal [5, 0, 60, false], quota.take(key, 1).to_a
  end

  def test_settings_that_are_wrong_are_refused_at_boot
    ["a b", "key", "key:", "key:name:0", "key:name:1:2", ":name"].each do |text|
      assert_raises(Elah::OptionError, text) { Stats::Keys.parse("#{text},k") }
    end
    ["", " "].each { |text| assert_raises(Elah::OptionError, text) { Stats::Keys.parse(text) } }
    assert_nil Stats::Keys.parse(nil)
    assert_raises(Elah::OptionError) { Stats::CORS.new(["example.com"]) }
    assert_raises(Elah::OptionError) { Stats::CORS.new(["*"]) }
    error = assert_raises(Elah::OptionError) { Stats::Destination.of("redis://127.0.0.1") }
    assert_match(/postgres:/, error.message)
  end
end
