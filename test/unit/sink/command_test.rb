# frozen_string_literal: true

require "support/sink_case"
require "elah/cli"
require "etc"

# `elah sink replay` and `elah sink salvage` beside an app that gives its sink other bounds, or runs as another user.
class SinkCommandTest < SinkCase
  LARGE = 2 * 1024**2
  ROOMY = { event_bytes_max: 8 * 1024**2 - 1 }.freeze

  def orders(**options, &block)
    sink("orders", folder: File.join(@folder, "sinks", "orders"), **ROOMY, **options, &block)
  end

  def elah(*argv)
    out, err = StringIO.new, StringIO.new
    [Elah::CLI.start([*argv, "--data", @folder], out: out, err: err), out.string, err.string]
  ensure
    Elah.config = nil
  end

  # Sizes of the events that it delivers from now on.
  def delivered
    sizes = []
    events = orders { |batch| sizes.concat(batch.map { |event| event.bytes.bytesize }) }
    assert events.start.flush(wait_seconds: patience_seconds)
    account(events)
    sizes
  end

  # The command had the bounds of the options: it refused the large letter, and delivered those before it at each try.
  def test_the_command_replays_letters_of_any_size_that_the_app_has_accepted
    events = orders { |_| raise "no" }
    events.push_all(["a", "b" * LARGE, "c"])
    assert events.flush
    events.close
    assert_equal [0, "Put 3 events into the journal again.\n", ""], elah("sink", "replay", "orders")
    assert_equal [1, LARGE, 1], delivered
  end

  # IDs behind a flag were not seen: all letters were replayed, or discarded with --all.
  def test_ids_and_flags_stand_in_any_order
    events = orders { |_| raise "no" }
    ids = events.push_all(%w[a b c]).ids
    assert events.flush
    events.close
    options = %w[--sink-attempt-seconds 10]
    assert_equal [2, "", "elah: elah sink discard takes IDs of dead letters or --all, not both.\n"],
                 elah("sink", "discard", "orders", "--all", ids[1])
    assert_equal [0, "b\n", ""], elah("sink", *options, "show", "orders", *options, ids[1])
    assert_equal [0, "Put 1 event into the journal again.\n", ""], elah("sink", "replay", "orders", *options, ids[1])
    assert_equal ids.values_at(0, 2), events.dead_letters.map(&:id)
  end

  def test_the_command_replays_letters_into_a_journal_that_is_full
    gone = false
    bounds = { journal_bytes_max: 262_144, event_bytes_max: 1000 }
    events = orders(**bounds) { |_| raise gone ? Elah::Unavailable : ArgumentError, "no" }
    id = events.push("a").id
    assert events.flush
    gone = true
    assert_raises(Elah::Sink::Full) { loop { events << ("b" * 1000) } }
    events.close
    options = %w[--sink-journal-bytes-max 65536 --sink-event-bytes-max 1000]
    status, out, = elah("sink", "replay", "orders", id, *options)
    assert_equal [0, "Put 1 event into the journal again.\n"], [status, out]
    assert_empty events.dead_letters
  end

  def test_the_command_salvages_events_of_any_size_that_the_app_has_accepted
    events = orders { |_| raise Elah::Unavailable, "gone" }
    events.push_all(["a", "b" * LARGE], durability: :disk)
    events.close
    path = Dir[File.join(events.folder, "journal-*", "*.segment")].fetch(0)
    File.open(path, "r+b") { |file| file.pwrite("\xFF", 32 + 10) } # in the first event, behind the header
    status, out, = elah("sink", "salvage", "orders")
    assert_equal 0, status
    assert_match(/salvaged: 1 event read/, out)
    assert_equal [LARGE], delivered
  end

  # The letters before the one that found no room were in the journal and still dead letters: both were delivered.
  def test_a_replay_that_ends_early_repeats_nothing
    broken = true
    seen = []
    events = orders { |batch| broken ? raise("no") : seen.concat(batch.map(&:bytes)) }
    events.push_all(["a", "b" * LARGE])
    assert events.flush
    events.close
    broken = false
    small = orders(event_bytes_max: 1024) { |batch| seen.concat(batch.map(&:bytes)) }
    2.times { assert_raises(Elah::Sink::TooLarge) { small.replay } }
    assert small.flush
    assert_equal %w[a], seen
    assert_equal [2, 1, 0, 1], account(small)
  end

  # The server could not open the files of root: the letters were withdrawn, and never delivered.
  def test_the_command_does_not_create_files_of_root_in_the_folder_of_another_user
    skip "needs root" unless Process.uid.zero?
    events = orders { |_| raise "no" }
    events << "a"
    assert events.flush
    events.close
    user = Etc.getpwnam("nobody").uid
    FileUtils.chown_R(user, nil, events.folder)
    files = Dir.glob("**/*", base: events.folder)
    %w[replay salvage].each do |action|
      status, _, err = elah("sink", action, "orders")
      assert_equal 1, status
      assert_includes err, "belongs to the user #{user}"
    end
    assert_equal files, Dir.glob("**/*", base: events.folder)
    assert_equal 0, elah("sink", "status").first
  end

  # The segment was as large as the event, without room for its record.
  def test_the_largest_permitted_event_has_room
    event = "x" * ROOMY[:event_bytes_max]
    assert_equal :delivered, orders { nil }.push(event, stream: "s" * 255, durability: :delivered).durability
  end
end
