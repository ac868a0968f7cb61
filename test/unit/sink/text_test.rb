# frozen_string_literal: true

require "support/sink_case"
require "elah/cli"

# Text of any origin on its way through a sink: reasons, events and streams in any encoding, and errors that nobody
# foresaw. None of them stops the delivery.
class SinkTextTest < SinkCase
  TEXT = "𝛑 größe 日本 🎉"

  # An exception that cannot say what it is about.
  class Speechless < StandardError
    def message = raise("no words")
  end

  def flushed(*events, &block)
    sink = sink("sink#{@sinks.size}", &block)
    sink.push_all(events, durability: :disk)
    assert sink.flush
    sink
  end

  def reasons_of(message)
    flushed("x") { raise ArgumentError, message }.dead_letters.map(&:reason)
  end

  def test_a_reason_and_an_event_that_are_both_not_ascii_are_a_dead_letter
    events = flushed({ "größe" => TEXT }) do |batch|
      raise Elah::Sink::Rejected.new(batch.to_h { |event| [event.id, TEXT] })
    end
    letter = events.dead_letters.first
    assert_equal [TEXT, %({"größe":"#{TEXT}"}), Encoding::UTF_8], [letter.reason, letter.bytes, letter.bytes.encoding]
    assert_equal [1, 0, 0, 1], account(events)
    replayed = []
    events.close
    again = sink("sink0") { |batch| replayed.concat(batch.map { |event| event["größe"] }) }
    assert_equal 1, again.replay
    assert again.flush
    assert_equal [TEXT], replayed
  end

  def test_an_event_of_bytes_stays_bytes
    bytes = "\xFF\x00\xF0\x9F".b
    letter = flushed(bytes) { raise TEXT }.dead_letters.first
    assert_equal ["RuntimeError: #{TEXT}", bytes, Encoding::BINARY],
                 [letter.reason, letter.bytes, letter.bytes.encoding]
    assert_equal [false, Encoding::UTF_8], [letter.json?, letter.reason.encoding]
  end

  def test_reasons_in_any_encoding_become_utf8
    assert_equal ["ArgumentError: #{TEXT}"], reasons_of(TEXT.encode(Encoding::UTF_16LE))
    assert_equal ["ArgumentError: größe"], reasons_of("größe".encode(Encoding::ISO_8859_1))
    assert_equal ["ArgumentError: größe"], reasons_of("größe".b)
    assert_equal ["ArgumentError: a\uFFFDb"], reasons_of("a\xFFb")
  end

  # A reason bears what a client has sent, and reached the terminal as it was.
  def test_the_command_shows_a_reason_on_one_line_without_control_characters
    events = sink("sink0") { raise ArgumentError, "bad\r\n\e[2J\u009B" }
    events.push("x", durability: :disk)
    assert events.flush
    events.close
    data = File.join(@folder, "data")
    FileUtils.mkdir_p(File.join(data, "sinks"))
    File.symlink(File.join(@folder, "sink0"), File.join(data, "sinks/sink0"))
    out = StringIO.new
    Elah::CLI::Sink.run(["dead", "sink0", "--data", data], out: out)
    assert_match(/  ArgumentError: bad\\r\\n\\e\[2J\\u009B\n\z/, out.string)
  ensure
    Elah.config = nil
  end

  def test_an_exception_without_words_is_named_by_its_class
    assert_equal ["SinkTextTest::Speechless"], flushed("x") { raise Speechless }.dead_letters.map(&:reason)
  end

  def test_a_destination_that_is_away_may_say_so_in_any_bytes
    attempts = 0
    events = flushed("x") { (attempts += 1) < 3 && raise(Elah::Unavailable, "gone: \xFF") }
    assert_equal [1, 1, 0, 0], account(events)
    assert_match(/cannot deliver.*gone: \uFFFD/, @log.string)
  end

  # A SystemStackError is no StandardError, and neither is a NotImplementedError.
  def test_an_event_that_no_stack_suffices_for_is_a_dead_letter
    deep = ->(level) { deep.call(level + 1) }
    events = flushed("deep", "flat") { |batch| deep.call(0) if batch.any? { |event| event.bytes == "deep" } }
    assert_equal [2, 1, 0, 1], account(events)
    assert_match(/SystemStackError/, events.dead_letters.first.reason)
    assert_equal ["NotImplementedError: later"],
                 flushed("x") { raise NotImplementedError, "later" }.dead_letters.map(&:reason)
  end

  # None of them is a StandardError, or it would end the delivery if the loop itself had raised it.
  def test_an_event_that_ends_the_block_in_any_way_is_a_dead_letter
    ways = { "NoMemoryError: failed" => -> { raise NoMemoryError, "failed" }, "SystemExit: exit" => -> { exit },
             "SecurityError: no" => -> { raise SecurityError, "no" },
             "Elah::Cancelled: The fiber was cancelled." => -> { Elah.async { Queue.new.pop }.cancel.value } }
    ways.each do |reason, way|
      events = flushed("bad", "good") { |batch| way.call if batch.any? { |event| event.bytes == "bad" } }
      assert_equal [reason], events.dead_letters.map(&:reason)
      assert_equal [2, 1, 0, 1], account(events)
      assert_equal :delivered, events.push("next", durability: :delivered).durability
    end
  end

  def test_an_event_that_cannot_be_processed_does_not_hold_the_others_up
    unwritable = BasicObject.new
    events = flushed("a", "b", "c") do |batch|
      bad = batch.find { |event| event.bytes == "b" } and raise Elah::Sink::Rejected.new(bad.id => unwritable)
    end
    assert_equal %w[b], events.dead_letters.map(&:bytes)
    assert_match(/NoMethodError/, events.dead_letters.first.reason)
    assert_equal [3, 2, 0, 1], account(events)
    assert_predicate events.health, :ok?
  end

  def test_a_ledger_that_fails_holds_the_delivery_up_until_it_works_again
    delivered = []
    events = sink { |batch| delivered.concat(batch.map(&:bytes)) }
    events.ledger.define_singleton_method(:settle) { |*| raise "broken" }
    events.push("a", durability: :disk)
    wait_until("the delivery is stuck") { events.health.stuck? }
    assert_equal "RuntimeError: broken", events.health.error
    events.push("b", durability: :disk)
    events.ledger.singleton_class.remove_method(:settle)
    assert events.flush
    assert_equal %w[a b], delivered.uniq
    refute_predicate events.health, :stuck?
    assert_predicate events.health, :ok?
  end

  def test_the_name_of_a_stream_is_utf8
    events = sink { nil }
    events.push("x", stream: TEXT)
    events.push("x", stream: TEXT.b)
    assert events.flush
    assert_equal({ TEXT => 2 }, events.report["streams"].transform_values { |stream| stream["total"]["delivered"] })
    ["\xFF", "\xFF".b, "größe".encode(Encoding::ISO_8859_1), "größe".encode(Encoding::UTF_16LE)].each do |name|
      assert_raises(ArgumentError) { events.push("x", stream: name) }
    end
  end
end
