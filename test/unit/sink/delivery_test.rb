# frozen_string_literal: true

require "support/replaced_method"
require "support/sink_case"

# Attempts, poison, dead letters and the account of all that.
class SinkDeliveryTest < SinkCase
  include ReplacedMethod

  class Poisoned < StandardError; end

  # Takes no batch that holds one of these events, as a table does whose column cannot hold one value.
  class Picky
    attr_reader :taken, :calls
    attr_accessor :poison

    def initialize(*poison)
      @poison = poison
      @taken = []
      @calls = 0
    end

    def deliver(events)
      @calls += 1
      bad = events.map(&:bytes) & @poison
      raise Poisoned, "cannot hold #{bad.join(' and ')}" if bad.any?

      @taken.concat(events.map(&:bytes))
    end
  end

  def test_events_that_are_to_blame_are_found_and_parked_with_the_reason
    picky = Picky.new("13", "77")
    events = sink(to: picky)
    receipt = events.push_all([*"0".."99"], durability: :disk)
    assert events.flush
    assert_equal [*"0".."99"] - %w[13 77], picky.taken
    assert_operator picky.calls, :<, 40
    letters = events.dead_letters
    assert_equal %w[13 77], letters.map(&:bytes)
    assert_equal "SinkDeliveryTest::Poisoned: cannot hold 13", letters[0].reason
    assert_equal receipt.ids.values_at(13, 77), letters.map(&:id)
    assert_equal Time.at(6_000_000), letters[0].parked_at
    assert_equal [100, 98, 0, 2], account(events)
  end

  def test_a_destination_receives_its_dead_letters_once_they_are_stored
    picky = Picky.new("1", "3")
    events = sink(to: picky)
    seen = []
    picky.define_singleton_method(:parked) do |letters|
      seen.concat(letters.map(&:bytes))
      events.discard(letters.map(&:id))
      raise "this is logged"
    end
    events.push_all([*"0".."4"])
    assert events.flush
    assert_equal %w[1 3], seen
    assert_equal [3, 3, 0, 0], account(events)
    assert_match(/failed with its dead letters/, @log.string)
  end

  def test_who_waits_for_the_delivery_of_a_poisoned_event_learns_the_reason
    events = sink(to: Picky.new("bad"))
    error = assert_raises(Elah::Sink::Rejected) { events.push("bad", durability: :delivered) }
    assert_match(/cannot hold bad/, error.reasons.values.first)
    assert_equal :delivered, events.push("good", durability: :delivered).durability
  end

  def test_a_ledger_that_fails_is_told_to_readiness_probes_until_it_works_again
    events = sink { nil }
    events.push("one", durability: :delivered)
    ledger, away = %w[ledger away].map { |name| File.join(events.folder, name) }
    File.rename(ledger, away)
    events.push("two", durability: :disk)
    wait_until("the ledger fails") { !events.health.ok? }
    assert_predicate events.health, :stuck?
    assert_match(/was removed or replaced/, assert_raises(Elah::Sink::Failed) { events.check_ready }.message)
    File.rename(away, ledger)
    assert events.flush(wait_seconds: patience_seconds)
    assert_predicate events.health, :ok?
    assert_nil events.check_ready
  end

  # It was parked with the disk's error as its reason, though no destination had refused it.
  def test_an_event_that_cannot_be_read_for_a_moment_is_delivered
    failing = 0
    unreadable = Module.new do
      define_method(:read) do |*arguments|
        (failing -= 1) >= 0 ? raise(Elah::Sink::Failed, "The disk failed.") : super(*arguments)
      end
    end
    journals = Elah::Sink.const_get(:Journal)
    open = journals.method(:open)
    replacing(journals, :open, ->(*arguments) { open.call(*arguments).extend(unreadable) }) do
      events = sink { nil }
      events.push("one", durability: :delivered)
      failing = 2
      events.push("two", durability: :delivered)
      assert_equal [2, 2, 0, 0], account(events)
    end
  end

  # Without descriptors for a moment its loop could not start: the sink accepted events from then on, and kept them.
  def test_a_delivery_whose_loop_cannot_start_begins_with_the_next_event
    taken = []
    events = sink { |batch| taken.concat(batch.map(&:bytes)) }
    tried = Queue.new
    threads = Thread.list
    capture_io do
      replacing(Elah, :run, -> { (tried << true) && raise(Elah::Error, "Too many open files") }) do
        events.push("first", durability: :disk)
        2.times { tried.pop }
        wait_until("its threads have ended") { (Thread.list - threads).empty? }
      end
    end
    assert_nil events.check_ready
    events << "second"
    assert events.flush(wait_seconds: patience_seconds)
    assert_equal %w[first second], taken
    assert_equal [2, 2, 0, 0], account(events)
  end

  # A client that gets no response sends its event again, while the first one waits.
  def test_two_that_wait_for_events_with_one_id_each_learn_the_fate_of_their_own
    id = "0b21b5e5-6f0b-4d0e-9d1c-2f1e3d4c5b6a"
    [%i[bad bad], %i[bad good], %i[good bad]].each do |fates|
      asked = Queue.new
      verdicts = Queue.new
      events = sink(fates.join, batch_events_max: 1) do |(event)|
        (asked << event) && verdicts.pop == :bad && raise(Poisoned)
      end
      options = { id: id, durability: :delivered, wait_seconds: patience_seconds }
      push = -> { Thread.new { fate { events.push("event", **options).durability } } }
      first = push.call
      asked.pop
      accepted = events.send(:journal).end
      second = push.call
      wait_until("both are accepted") { events.send(:journal).end > accepted }
      met = [first, second].zip(fates).map { |thread, verdict| (verdicts << verdict) && thread.value }
      assert_equal fates, met
    end
  end

  def fate
    yield == :delivered ? :good : :late
  rescue Elah::Sink::Rejected => e
    assert_match(/Poisoned/, e.reasons.values.first)
    :bad
  end

  def test_a_destination_may_say_itself_which_events_it_does_not_take
    calls = 0
    events = sink do |batch|
      calls += 1
      bad = batch.select { |event| event["n"].odd? }
      raise Elah::Sink::Rejected.new(bad.to_h { |event| [event.id, "odd"] }) if bad.any?
    end
    events.push_all(Array.new(10) { |n| { n: n } }, durability: :disk)
    assert events.flush
    assert_equal ["odd"] * 5, events.dead_letters.map(&:reason)
    assert_operator calls, :<=, 2
    assert_equal [10, 5, 0, 5], account(events)
  end

  def test_replayed_letters_are_delivered_with_their_ids_or_parked_again
    picky = Picky.new("a", "b", "c")
    events = sink(to: picky)
    receipt = events.push_all(%w[a b c d], durability: :disk)
    assert events.flush
    picky.poison = ["c"]
    assert_equal 2, events.replay(receipt.ids.values_at(0, 2))
    assert events.flush
    assert_equal %w[d a], picky.taken
    assert_equal [4, 2, 0, 2], account(events)
    picky.poison = []
    assert_equal 2, events.replay
    assert events.flush
    assert_equal %w[d a b c], picky.taken
    assert_empty events.dead_letters
    assert_equal [4, 4, 0, 0], account(events)
    assert_equal 0, events.replay
  end

  # All letters were read before the first one was put back: gigabytes, after an outage with many large events.
  def test_a_replay_holds_a_page_of_letters_and_takes_each_letter_once
    events = sink(dead_max: 1000) { |batch| raise Elah::Sink::Rejected, batch.to_h { |event| [event.id, "no"] } }
    events.push_all(Array.new(250) { |n| { n: n } })
    assert events.flush
    steps = []
    %i[dead_letters withdraw].each do |name|
      events.ledger.define_singleton_method(name) { |*given, **named| steps << name && super(*given, **named) }
    end
    assert_equal 250, events.replay
    assert_equal %i[dead_letters withdraw] * 3, steps.first(6)
    assert events.flush
    assert_equal [250, 0, 0, 250], account(events)
    assert_equal 250, events.discard
    assert_equal [0, 0, 0, 0], account(events)
  end

  # It raised a NoMethodError.
  def test_a_replay_without_a_journal_is_told_why
    events = sink { |_| raise ArgumentError, "no" }
    events << "a"
    assert events.flush
    events.close
    journal, = Dir[File.join(events.folder, "journal-*")]
    FileUtils.rm_r(journal)
    FileUtils.touch(journal)
    assert_raises(Elah::Sink::CannotOpen) { events.replay }
    assert_equal ["a"], events.dead_letters.map(&:bytes)
  end

  def test_a_letter_that_is_named_twice_is_replayed_once
    picky = Picky.new("a")
    events = sink(to: picky)
    id = events.push("a", durability: :disk)
    assert events.flush
    picky.poison = []
    assert_equal 1, events.replay([id.id, id.id.upcase])
    assert events.flush
    assert_equal %w[a], picky.taken
    assert_equal [1, 1, 0, 0], account(events)
  end

  # Two at once delivered every letter twice, and counted it twice. Then the second one was an error, which whoever
  # changed a schema of apps/stats got when its sink had just parked an event.
  def test_a_second_replay_waits_for_the_first
    picky = Picky.new("a")
    events = sink(to: picky)
    events.push("a", durability: :disk)
    assert events.flush
    second = while_locked(events.folder) { events.replay }
    assert_equal 1, second.value
    assert events.flush
    assert_equal [1, 0, 0, 1], account(events)
  end

  # The replayed event may be delivered, and be parked again, before the letter is forgotten that was replayed.
  def test_a_letter_that_is_parked_again_before_the_old_one_is_forgotten_stays
    events = sink(to: Picky.new("a"))
    events.push("a", durability: :disk)
    assert events.flush
    old = events.dead_letters
    events.push("a", id: old.first.id)
    assert events.flush
    events.ledger.withdraw(old)
    assert_equal [2], events.dead_letters.map(&:parkings)
    assert_equal [1, 0, 0, 1], account(events)
  end

  # Killed between the append to the journal and the end of the letter, a replay is done twice: the letter takes its own
  # place.
  def test_a_letter_that_is_parked_twice_counts_once
    events = sink(to: Picky.new("a"))
    id = events.push("a", durability: :disk).id
    assert events.flush
    events.push("a", id: id)
    assert events.flush
    assert_equal 1, events.dead_letters.size
    assert_equal [1, 0, 0, 1], account(events)
  end

  def test_discarded_letters_are_gone
    events = sink(to: Picky.new("a"))
    id = events.push("a", durability: :disk).id
    assert events.flush
    assert_equal 1, events.discard([id])
    assert_equal 0, events.discard([id])
    assert_equal [0, 0, 0, 0], account(events)
  end

  def test_a_destination_that_is_gone_is_asked_again_at_growing_intervals
    failures = 0
    events = sink(random: Class.new { def self.rand(max) = max }, retry_seconds: 0.5, retry_max_seconds: 4.0) do |_|
      failures += 1
      raise Elah::Unavailable, "gone" if failures <= 6
    end
    events << "1"
    assert events.flush
    assert_equal [0.5, 1.0, 2.0, 4.0, 4.0, 4.0], Array.new(@pauses.size) { @pauses.pop }
    assert_predicate events.health, :ok?
    assert_equal [1, 1, 0, 0], account(events)
  end

  def test_the_report_says_that_a_destination_does_not_answer
    events = sink { |_| raise Errno::ECONNREFUSED }
    events << "1"
    wait_until("it has failed") { !events.health.ok? }
    report = events.report
    refute report["destination"]["ok"]
    assert_match(/ECONNREFUSED/, report["destination"]["error"])
    assert report["holds"]
  end

  def test_a_destination_that_hangs_is_given_up_and_asked_again
    calls = 0
    events = sink(attempt_seconds: 0.5) { |_| Queue.new.pop if (calls += 1) == 1 }
    events << "1"
    assert events.flush
    assert_equal 2, calls
  end

  def test_a_slow_destination_holds_up_no_other_sink
    hung = sink("hung") { |_| Queue.new.pop }
    other = sink("other") { |_| nil }
    Elah.run do
      hung << "1"
      assert_equal :delivered, other.push("1", durability: :delivered).durability
    end
    assert_equal [1, 0, 1, 0], account(hung)
  end

  # Nothing but the health of the destination said so: readiness was fine, while the journal filled.
  def test_with_as_many_dead_letters_as_it_keeps_it_delivers_nothing_and_is_not_ready
    events = sink(to: Picky.new("a"), dead_max: 1, batch_events_max: 1)
    events.push_all(%w[a a b], durability: :disk)
    wait_until("it has stopped") { !events.health.ok? }
    assert_equal [3, 0, 2, 1], account(events)
    error = assert_raises(Elah::Sink::Failed) { events.check_ready }
    [error.message, @log.string].each { |text| assert_match(/1 dead letter.*sink_dead_max.*delivers nothing/, text) }
    events.discard(events.dead_letters.map(&:id))
    assert events.flush
    assert_nil events.check_ready
    assert_equal [2, 1, 0, 1], account(events)
  end

  def test_a_ledger_that_fails_for_a_while_delivers_no_batch_twice
    calls = 0
    events = sink { |_| calls += 1 }
    settles = 0
    ledger = events.ledger
    ledger.define_singleton_method(:settle) do |*arguments, **named|
      settles += 1
      raise Elah::Store::Full, "no room" if settles == 1
      raise Elah::Store::CannotOpen, "no descriptor" if settles == 2 # as after a fork

      super(*arguments, **named)
    end
    events << "1"
    assert events.flush
    assert_equal [1, 3], [calls, settles]
    assert_equal [1, 1, 0, 0], account(events)
  end

  # It was settled a second time, which is refused, and the journal was closed.
  def test_a_ledger_without_room_for_its_sums_keeps_no_batch_from_being_done
    events = sink { |_| nil }
    ledger = events.ledger
    sums = 0
    ledger.define_singleton_method(:aggregate_before) do |minute|
      raise Elah::Store::Full, "no room" if (sums += 1) == 1

      super(minute)
    end
    events << "1"
    assert events.flush
    assert_equal 2, sums
    assert_equal [1, 1, 0, 0], account(events)
  end

  # The sync of the folder failed, and the journal accepted no more events.
  def test_a_sync_needs_no_free_descriptor
    descriptors = Process.getrlimit(:NOFILE)
    events = sink(deliver: false) << "first" # in a new segment
    Process.setrlimit(:NOFILE, 3, descriptors.last)
    assert_equal :disk, events.push("second", durability: :disk).durability
  ensure
    Process.setrlimit(:NOFILE, *descriptors)
  end

  # It ended, which closed the journal, and what was in it waited for the next event.
  def test_a_delivery_that_finds_no_free_descriptor_goes_on_when_there_is_one
    descriptors = Process.getrlimit(:NOFILE)
    adopting = Queue.new
    freed = Queue.new
    takes_all = false
    pause = lambda do |seconds|
      if seconds.equal?(ADOPT_SECONDS)
        adopting << true
        freed.pop
      else
        Process.setrlimit(:NOFILE, *descriptors)
        freed.close
      end
      pause(seconds)
    end
    delivered = []
    events = sink(batch_events_max: 1, pause: pause) do |batch|
      delivered.concat(batch.map(&:bytes))
      Process.setrlimit(:NOFILE, 3, descriptors.last) if takes_all && delivered.size == 2
    end
    events.push("a", durability: :delivered)
    adopting.pop
    takes_all = true
    events.push_all(%w[b c])
    assert events.flush
    assert_equal %w[a b c], delivered
    assert_predicate freed, :closed?, "it was tried again"
    assert_predicate events.health, :ok?
    assert_equal [3, 3, 0, 0], account(events)
  ensure
    Process.setrlimit(:NOFILE, *descriptors)
    freed.close
  end

  def test_batches_keep_their_bounds
    sizes = []
    events = sink(batch_events_max: 10) { |batch| sizes << batch.size }
    events.push_all(["x"] * 25)
    assert events.flush
    assert_equal 25, sizes.sum
    assert_operator sizes.max, :<=, 10
    sizes.clear
    events = sink("bytes", batch_bytes_max: 1000) { |batch| sizes << batch.size }
    events.push_all(["x" * 500] * 10)
    assert events.flush
    assert_equal [10, 2], [sizes.sum, sizes.max]
  end
end
