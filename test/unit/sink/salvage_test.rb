# frozen_string_literal: true

require "support/sink_case"
require "elah/cli"
require "zlib"

# Damaged files of a journal: what is delivered, what is told, and what can be read again.
class SinkSalvageTest < SinkCase
  HEADER_BYTES = 32

  # Ten events, whose destination takes the first `delivered` of them.
  #
  # @return [Array<String>] ids of all
  def accept_ten(delivered: 0, **options)
    passed = []
    # It looks for journals once: after its end it would hold its own for a moment, as one of a dead process.
    rarely = ->(seconds) { Kernel.sleep(seconds.equal?(ADOPT_SECONDS) ? 2 : PAUSE_SECONDS) }
    events = sink(batch_events_max: 1, pause: rarely, **options) do |batch|
      passed.size < delivered ? passed.concat(batch) : raise(Elah::Unavailable, "gone")
    end
    events.push("0", durability: :disk)
    wait_until("so many are delivered") { account(events)[1] == [delivered, 1].min }
    receipt = events.push_all(Array.new(9) { |n| (n + 1).to_s }, durability: :disk)
    wait_until("so many are delivered") { account(events)[1] == delivered }
    events.close
    receipt.ids
  end

  def files(suffix) = Dir[File.join(@folder, "events", "journal-*", "*.#{suffix}")]

  # Inverts the byte so far behind the beginning of the record of event `number`.
  def damage(number, at: 10)
    path = files("segment").fetch(0)
    bytes = File.binread(path)
    # A word, then time, id, kind, length of the stream's name, and one byte, padded to 8.
    place = HEADER_BYTES + (number * 40) + at
    bytes.setbyte(place, bytes.getbyte(place) ^ 255)
    File.binwrite(path, bytes, 0)
  end

  def deliver_to(delivered) = sink { |batch| delivered.concat(batch.map { |event| [event.bytes, event.id] }) }.start

  def law(sink) = Elah::Sink::Account.of(sink.folder, sink.ledger)

  def elah(*argv)
    out, err = StringIO.new, StringIO.new
    [Elah::CLI.start([*argv, "--data", @folder], out: out, err: err), out.string, err.string]
  end

  # Sinks where the command line finds them, with one delivered event each.
  def in_data_folder(*names)
    names.each do |name|
      events = sink(name, folder: File.join(@folder, "sinks", name)) { nil }
      events.push(name, durability: :disk)
      events.flush
      events.close
    end
  end

  def test_a_stray_file_hinders_no_salvage
    accept_ten
    damage(4)
    deliver_to([]).flush
    stray = File.join(@folder, "events", "journal-0", "foo.damaged")
    File.write(stray, "what somebody left")
    outcome = sink { nil }.salvage
    reasons = outcome.findings.to_h { |finding| [File.basename(finding.path), finding.reason] }
    assert_match(/not a segment that was set aside/, reasons.fetch("foo.damaged"))
    assert_equal 5, outcome.findings.sum(&:events)
    assert_path_exists stray
  end

  def test_the_command_names_a_file_that_it_skips
    in_data_folder("shop")
    stray = File.join(@folder, "sinks", "shop", "journal-0", "foo.damaged")
    File.write(stray, "")
    status, out, = elah("sink", "salvage", "shop")
    assert_equal 0, status
    assert_match(/#{Regexp.escape(stray)}: skipped: .*not a segment/, out)
    assert_includes out, "Put 0 events into the journal again."
  end

  def test_the_command_replays_no_unknown_dead_letter
    in_data_folder("shop")
    unknown = "01a2004f-0000-7000-8000-000000000000"
    %w[replay discard show].each do |action|
      assert_equal [2, "", "elah: shop has no dead letter #{unknown}: `elah sink dead shop` lists them.\n"],
                   elah("sink", action, "shop", unknown)
    end
  end

  def test_the_command_shows_the_other_sinks_when_one_has_a_newer_format
    in_data_folder("shop", "news", "mail")
    news = sink("news", folder: File.join(@folder, "sinks", "news")) { raise Elah::Unavailable, "gone" }
    news.push("x", durability: :disk)
    news.close
    path = Dir[File.join(@folder, "sinks", "news", "journal-*", "*.segment")].fetch(0)
    bytes = File.binread(path)
    bytes[7] = "9"
    bytes[28, 4] = [Zlib.crc32(bytes[0, 28])].pack("V")
    File.binwrite(path, bytes)
    File.write(File.join(@folder, "sinks", "stray.damaged"), "")
    status, out, err = elah("sink", "status")
    assert_equal [1, "elah: 1 sink cannot be read: news.\n"], [status, err]
    assert_match(/^shop +1 +1 +0 +0$/, out)
    assert_match(/^mail +1 +1 +0 +0$/, out)
    assert_match(/^news .* has the format 9, and this version of Elah reads the format/, out)
    refute_includes out, "stray"
  end

  def test_damage_is_kept_counted_told_and_read_again
    ids = accept_ten
    damage(4)
    delivered = []
    events = deliver_to(delivered)
    assert events.flush
    assert_equal %w[0 1 2 3], delivered.map(&:first)
    refute_predicate law(events), :holds?
    assert_equal [false, 1], events.report.values_at("holds", "damaged_segments")
    kept = files("damaged").fetch(0)
    damaged = "A file of the sink events was damaged at byte 192"
    assert_match(/ ERROR .* #{damaged}\. It is kept as #{kept}: .* Run `elah sink salvage events`/, @log.string)

    outcome = events.salvage
    assert_equal [[kept.sub("damaged", "salvaged"), 5, [192...232], nil]], outcome.findings.map(&:to_a)
    assert events.flush
    assert_equal %w[0 1 2 3 5 6 7 8 9], delivered.map(&:first)
    assert_equal ids.last(5), delivered.last(5).map(&:last), "with the ids that they had"
    assert_equal [9, 9, 0, 0], account(events)
    assert_empty files("damaged")
    assert_path_exists outcome.findings[0].path
  end

  # What was counted as accepted before is not counted twice, and what is lost is written off.
  def test_the_law_holds_again_when_events_were_counted_before
    accept_ten(delivered: 3)
    damage(5)
    delivered = []
    events = deliver_to(delivered)
    assert events.flush
    assert_equal [10, 5, 0, 0], law(events).total.to_a
    outcome = events.salvage
    # The 4 that count anew were told as lost too.
    assert_equal [4, 1], [outcome.findings.sum(&:events), outcome.missing]
    assert events.flush
    assert_equal [9, 9, 0, 0], account(events)
    assert_equal Elah::Sink::Salvage::Outcome.new([], 0), events.salvage
  end

  # Killed between the append and the end of the file's name, a salvage is done twice: the events come again with their
  # ids.
  def test_a_salvage_that_was_interrupted_is_done_again
    accept_ten(delivered: 3)
    damage(5)
    delivered = []
    events = deliver_to(delivered)
    kept = events.salvage.findings.fetch(0).path
    File.rename(kept, kept.sub("salvaged", "damaged"))
    assert_equal [4, 0], events.salvage.then { |outcome| [outcome.findings.sum(&:events), outcome.missing] }
    assert events.flush
    assert_equal 6, delivered.uniq.size
    account(events)
  end

  # Two at once would count events twice.
  def test_a_second_salvage_waits_for_the_first
    accept_ten(delivered: 3)
    damage(5)
    events = deliver_to([])
    second = while_locked(events.folder) { events.salvage }
    assert_equal 4, second.value.findings.sum(&:events)
    assert events.flush
    account(events)
  end

  # A start before all is delivered finds the damage of the one before no second time.
  def test_damage_is_told_once
    accept_ten(delivered: 3)
    damage(5)
    2.times do
      events = sink { |_| raise Elah::Unavailable, "gone" }.start
      events.salvage
      assert_predicate law(events), :holds?
      events.close
    end
    assert_equal 1, @log.string.scan("was damaged at byte").size
    assert_empty files("damaged")
  end

  def test_damage_that_is_met_while_the_sink_runs_stops_it_only_for_a_moment
    gone = true
    delivered = []
    events = sink(batch_events_max: 1) do |batch|
      gone ? raise(Elah::Unavailable, "gone") : delivered.concat(batch.map(&:bytes))
    end
    10.times { |n| events << n.to_s }
    wait_until("an attempt has failed") { !events.health.ok? }
    damage(4)
    gone = false
    wait_until("those before it are delivered") { delivered.size == 4 }
    wait_until("it is set aside") { files("damaged").any? }
    events << "10"
    assert events.flush
    assert_equal %w[0 1 2 3 10], delivered
    assert_equal 5, events.salvage.findings.sum(&:events)
    assert events.flush
    assert_equal %w[0 1 2 3 10 5 6 7 8 9], delivered
    account(events)
  end

  def test_the_command_shows_damage_and_reads_it_again
    accept_ten
    damage(0, at: -HEADER_BYTES)
    assert_match(/^events +0 +0 +0 +0  1 damaged file: see `elah sink salvage events`$/, command("status"))
    said = command("salvage", "events")
    assert_match(/\.salvaged: 10 events read, no byte lost\nPut 10 events into the journal again\.\n\z/, said)
    assert_match(/^events +10 +0 +10 +0$/, command("status"))
    delivered = []
    events = deliver_to(delivered)
    wait_until("all are delivered") { delivered.map(&:first) == Array.new(10, &:to_s) }
    assert events.flush
    assert_equal [10, 10, 0, 0], account(events)
  end

  def test_a_file_of_a_newer_format_is_refused_and_left_alone
    accept_ten
    path = files("segment").fetch(0)
    header = File.binread(path, HEADER_BYTES)
    header.setbyte(7, "3".ord)
    header[28, 4] = [Zlib.crc32(header[0, 28])].pack("V")
    File.binwrite(path, header, 0)
    before = File.binread(path)
    events = sink { |_| nil }
    error = assert_raises(Elah::Sink::CannotOpen) { events.start }
    assert_match(/has the format 3, and this version of Elah reads the format 2; start the version that wrote the file/,
                 error.message)
    assert_equal before, File.binread(path)
    assert_empty files("damaged")
  end

  def test_a_sink_is_ready_while_it_takes_events
    gone = true
    events = sink(journal_bytes_max: 65_536, event_bytes_max: 1000) { |_| raise Elah::Unavailable, "gone" if gone }
    events.check_ready
    assert_raises(Elah::Sink::Full) { loop { events << ("x" * 900) } }
    assert_raises(Elah::Sink::Full) { events.check_ready }
    gone = false
    assert events.flush
    events.check_ready
  end

  # A child that was forked meanwhile had the lock as long as it lived, and the next replay or salvage waited for it.
  def test_a_fork_during_a_salvage_does_not_keep_its_lock
    events = sink { nil }
    input, output = IO.pipe
    child = nil
    events.define_singleton_method(:salvage_all) do
      child = fork { output.close && input.read && exit!(0) }
      super()
    end
    events.salvage
    File.open(events.folder) { |folder| assert folder.flock(File::LOCK_EX | File::LOCK_NB), "the lock is free" }
  ensure
    output.close
    Process.wait(child)
  end

  private

  def command(*arguments)
    # The folder of the data, below which the sinks are.
    data = File.join(@folder, "data")
    FileUtils.mkdir_p(data)
    File.symlink(@folder, File.join(data, "sinks")) unless File.exist?(File.join(data, "sinks"))
    out = StringIO.new
    Elah::CLI::Sink.run([arguments[0], arguments[1] || "events", "--data", data], out: out)
    out.string
  ensure
    Elah.config = nil
  end
end
