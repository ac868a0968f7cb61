# frozen_string_literal: true

require "open3"
require "support/sink_case"

# What an app sees of a sink: events go in, come out in batches, and are accounted for.
class SinkTest < SinkCase
  def test_events_come_out_in_order_with_id_stream_and_time
    delivered = []
    events = sink { |batch| delivered.concat(batch) }
    events << { path: "/", n: 1 } << { path: "/a", n: 2 }
    receipt = events.push({ n: 3 }, stream: "site")
    events << "raw \xFF bytes"
    assert events.flush
    assert_equal [{ "path" => "/", "n" => 1 }, { "path" => "/a", "n" => 2 }, { "n" => 3 }, "raw \xFF bytes".b],
                 delivered.map(&:data)
    assert_equal ["", "", "site", ""], delivered.map(&:stream)
    assert_equal [true, true, true, false], delivered.map(&:json?)
    assert_equal Time.at(6_000_000), delivered[0].accepted_at
    assert_equal receipt.id, delivered[2].id
    assert_equal delivered.map(&:id).sort, delivered.map(&:id), "ids are in the order of time"
    assert_equal 1, delivered[0]["n"]
    assert_equal [4, 4, 0, 0], account(events)
  end

  def test_a_receipt_says_which_durability_was_met
    events = sink { |_| nil }
    assert_equal(:memory, events.push({ n: 1 }).durability)
    assert_equal(:disk, events.push({ n: 1 }, durability: :disk).durability)
    assert_equal(:delivered, events.push({ n: 1 }, durability: :delivered).durability)
  end

  def test_who_waits_for_a_delivery_that_does_not_come_is_told_that_it_is_on_the_disk
    events = sink { |_| raise Elah::Unavailable, "gone" }
    assert_equal(:disk, events.push({ n: 1 }, durability: :delivered, wait_seconds: 0.01).durability)
    refute events.flush(wait_seconds: 0.01)
    assert_equal [1, 0, 1, 0], account(events)
  end

  # The event was accepted before its caller got the error, and was sent again.
  def test_a_time_that_nobody_can_wait_is_refused_before_the_event_is_accepted
    events = sink { |_| nil }
    [-1, Float::NAN, Float::INFINITY, nil, "1"].each do |seconds|
      wait = { durability: :delivered, wait_seconds: seconds }
      assert_raises(ArgumentError, seconds.inspect) { events.push({ n: 1 }, **wait) }
      assert_raises(ArgumentError, seconds.inspect) { events.push_all([{ n: 1 }], **wait) }
    end
    assert_equal [0, 0, 0, 0], account(events)
  end

  def test_more_than_awaiting_max_do_not_wait_for_a_delivery
    events = sink(awaiting_max: 0) { |_| raise Elah::Unavailable, "gone" }
    assert_equal(:disk, events.push({ n: 1 }, durability: :delivered, wait_seconds: 1000).durability)
  end

  # While the process was in another folder, its events were refused, or went there.
  def test_a_relative_folder_is_that_of_the_moment
    Dir.mktmpdir do |start|
      events = Dir.chdir(start) { sink("here", folder: "sinks/here") { |_| nil } }
      events << { n: 1 }
      assert events.flush
      assert_equal File.join(start, "sinks/here"), events.folder
      events.close
    end
  end

  # While the process was in another folder, pushes were refused, or began a second journal there.
  def test_a_relative_folder_is_that_of_the_start
    events = Dir.chdir(@folder) { sink("near", folder: "near") { |_| nil } }
    Dir.chdir("/") { events << { n: 1 } }
    assert_equal File.join(File.realpath(@folder), "near"), events.folder
    assert events.flush
  end

  # Each took over the journals of the other one, and delivered its events.
  def test_two_sinks_cannot_have_one_folder
    folder = sink("payments") { |_| nil }.folder
    error = assert_raises(Elah::OptionError) { sink("clicks", folder: "#{folder}/") { |_| nil } }
    assert_match(/\AThe sinks payments and clicks have the same folder, /, error.message)
    assert_equal folder, sink("payments") { |_| nil }.folder
  end

  def test_an_event_keeps_the_id_that_it_is_given
    ids = []
    events = sink { |batch| ids.concat(batch.map(&:id)) }
    id = Elah::Sink.id_of("order 7")
    events.push({ n: 1 }, id: id)
    events.push({ n: 1 }, id: "0190B2D4-0000-7000-8000-0123456789AB")
    events.flush
    assert_equal [id, "0190b2d4-0000-7000-8000-0123456789ab"], ids
    assert_raises(ArgumentError) { events.push({ n: 1 }, id: "order 7") }
  end

  def test_a_batch_is_accepted_whole_or_not_at_all
    delivered = []
    events = sink(event_bytes_max: 100) { |batch| delivered.concat(batch) }
    receipt = events.push_all([{ n: 1 }, "two"], durability: :delivered, stream: "s")
    assert_equal :delivered, receipt.durability
    assert_equal receipt.ids, delivered.map(&:id)
    assert_raises(Elah::Sink::TooLarge) { events.push_all([{ n: 1 }, "x" * 101]) }
    assert_raises(ArgumentError) { events.push_all([{ n: 1 }, 3]) }
    assert_raises(Elah::JSON::GenerateError) { events.push_all([{ n: 1 }, { n: Float::NAN }]) }
    assert_raises(ArgumentError) { events.push_all([{ n: 1 }], ids: []) }
    assert_equal :memory, events.push_all([]).durability
    assert_equal [2, 2, 0, 0], account(events)
  end

  def test_what_is_no_event_is_refused
    events = sink(event_bytes_max: 100) { |_| nil }
    assert_raises(ArgumentError) { events << 1 }
    assert_raises(Elah::JSON::GenerateError) { events << { n: Float::INFINITY } }
    assert_equal [413, "event_too_large"],
                 assert_raises(Elah::Sink::TooLarge) { events << ("x" * 101) }.then { |e| [e.status, e.code] }
    assert_raises(Elah::Sink::TooLarge) { events.push({ n: 1 }, stream: "s" * 256) }
    assert_raises(ArgumentError) { events.push({ n: 1 }, stream: "\xFF") }
    assert_raises(ArgumentError) { events.push({ n: 1 }, durability: :eternal) }
    assert_equal [0, 0, 0, 0], account(events)
  end

  def test_wrong_names_and_bounds_are_refused_at_boot
    error = assert_raises(Elah::OptionError) { sink(batch_size: 1) { |_| nil } }
    assert_match(/There is no|has no bound batch_size/, error.message)
    assert_raises(Elah::OptionError) { sink(batch_events_max: 0) { |_| nil } }
    error = assert_raises(Elah::OptionError) { sink(journal_bytes_max: 65_536, event_bytes_max: 60_000) { |_| nil } }
    assert_match(/at least/, error.message)
    assert_raises(Elah::OptionError) { sink }
    assert_raises(Elah::OptionError) { sink(to: 1) }
    assert_raises(Elah::OptionError) { Elah::Sink.new("../x") { |_| nil } }
  end

  def test_a_full_journal_refuses_without_loss_and_goes_on
    gone = true
    delivered = []
    events = sink(journal_bytes_max: 65_536, event_bytes_max: 1000, retry_max_seconds: 0.01) do |batch|
      raise Elah::Unavailable, "gone" if gone

      delivered.concat(batch.map(&:bytes))
    end
    accepted = []
    error = assert_raises(Elah::Overloaded) do
      loop { events << (text = format("%0500d", accepted.size)) && accepted << text }
    end
    assert_instance_of Elah::Sink::Full, error
    assert_equal [503, "overloaded"], [error.status, error.code]
    assert_raises(Elah::Sink::Full) { events.push_all(["x"] * 2000) }
    assert_equal [accepted.size, 0, accepted.size, 0], account(events)
    gone = false
    assert events.flush
    assert_equal accepted, delivered
    events << "more"
    assert events.flush
    assert_equal [accepted.size + 1, accepted.size + 1, 0, 0], account(events)
  end

  def test_another_opening_goes_on_where_the_last_one_stopped
    first = sink { |_| raise Elah::Unavailable, "gone" }
    3.times { |n| first << { n: n } }
    first.close
    delivered = []
    second = sink { |batch| delivered.concat(batch.map { |event| event["n"] }) }
    second << { n: 3 }
    assert second.flush
    assert_equal [0, 1, 2, 3], delivered
    assert_equal [4, 4, 0, 0], account(second)
  end

  def test_a_closed_sink_opens_again_at_its_next_event
    delivered = []
    events = sink { |batch| delivered.concat(batch.map(&:bytes)) }
    events << "1"
    events.flush
    events.close
    events << "2"
    assert events.flush
    assert_equal %w[1 2], delivered
    assert_equal [2, 2, 0, 0], account(events)
  end

  def test_the_journal_of_somebody_who_is_gone_is_taken_over
    first = sink(deliver: false)
    second = sink(deliver: false)
    first << { n: 1 }
    second << { n: 2 }
    assert_equal %w[journal-0 journal-1], Elah::Sink::Journals.names(first.folder)
    delivered = Queue.new
    third = sink { |batch| batch.each { |event| delivered << event["n"] } }.start
    first.close
    second.close
    wait_until("both are delivered") { delivered.size == 2 }
    wait_until("both are settled") { account(third) == [2, 2, 0, 0] }
  end

  # One that could not be read ended the look for others and closed the own one; one that could not be opened kept those
  # after it waiting.
  def test_a_journal_that_cannot_be_taken_over_concerns_no_other
    bounds = { journal_bytes_max: 65_536, event_bytes_max: 1000 }
    left = Array.new(3) { sink(deliver: false, **bounds).start }
    left[0].push_all(["0" * 900] * 6)
    left[1] << "1"
    left[2] << "2"
    unreadable, unopenable = Elah::Sink::Journals.names(left[0].folder).map { |name| File.join(left[0].folder, name) }
    FileUtils.mkdir(File.join(unopenable, "00000000000000ff.segment"))
    delivered = Queue.new
    own = sink(**bounds) do |batch|
      FileUtils.rm(Dir[File.join(unreadable, "*.segment")]) if batch.first.bytes.start_with?("0")
      batch.each { |event| delivered << event.bytes[0] }
    end
    own.start
    left.each(&:close)
    wait_until("what can be taken over is") { delivered.size == 5 }
    own << "3"
    wait_until("the own journal is delivered") { delivered.size == 6 }
    own.close
    assert_equal %w[0 0 0 0 2 3], Array.new(6) { delivered.pop }
    assert_match(/could not be read.*cannot be opened/m, @log.string)
  end

  # They waited for the next event.
  def test_after_a_fork_in_a_loop_waiting_events_are_delivered
    in_the_middle_of_an_attempt do |events, gate, delivered|
      events.push("b", durability: :disk)
      Process.wait(fork { exit! })
      3.times { gate << true }
      assert_equal %w[a b], Array.new(2) { delivered.pop }
      assert events.flush
      assert_equal [2, 2, 0, 0], account(events)
    end
  end

  # So did they elsewhere, as under Puma.
  def test_after_a_fork_outside_of_a_loop_waiting_events_are_delivered
    is_gone = true
    events = sink(batch_events_max: 1) { |_| raise Elah::Unavailable, "gone" if is_gone }
    events.push_all(%w[a b c], durability: :disk)
    wait_until("it was tried") { !events.health.ok? }
    2.times { Process.wait(fork { exit! }) }
    is_gone = false
    wait_until("they are delivered") { account(events) == [3, 3, 0, 0] }
  end

  # Two deliveries have the first event; the one that settles it later ended, and the second event waited.
  def test_an_event_after_a_fork_is_delivered_whatever_attempt_still_runs
    in_the_middle_of_an_attempt do |events, gate, delivered|
      Process.wait(fork { exit! })
      events.push("b", durability: :disk)
      4.times { gate << true }
      assert_equal "a", delivered.pop
      nil until delivered.pop == "b"
      assert events.flush
      assert_equal [2, 2, 0, 0], account(events)
    end
  end

  def test_a_batch_that_another_owner_has_settled_is_not_settled_twice
    events = sink { |_| nil }
    ledger = events.ledger
    ledger.settle("journal-7", 0, [100, 100], accepted: [["", 1, 5]], delivered: [], dead: [])
    assert_raises(Elah::Sink::Closed) do
      ledger.settle("journal-7", 0, [100, 100], accepted: [["", 1, 5]], delivered: [], dead: [])
    end
    assert_equal [100, 100], ledger.progress("journal-7")
  end

  def test_it_works_in_a_loop_and_in_threads
    delivered = Queue.new
    events = sink { |batch| batch.each { |event| delivered << event["n"] } }
    Elah.run do
      Array.new(20) { |n| Elah.async { events.push({ n: n }, durability: :delivered) } }.each(&:value)
    end
    Array.new(20) { |n| Thread.new { events.push({ n: 20 + n }, durability: :delivered) } }.each(&:join)
    assert_equal [*0...40], Array.new(delivered.size) { delivered.pop }.uniq.sort
    wait_until("all are settled") { account(events) == [40, 40, 0, 0] }
  end

  # They were once in an ObjectSpace::WeakMap, which gave what had been collected to the next fork, and the process
  # crashed.
  def test_a_sink_that_nobody_holds_is_closed_before_a_fork
    sink(deliver: false) << { n: 1 }
    id = @sinks.pop.object_id
    GC.start
    forgotten = Elah::Sink.all.find { |one| one.object_id == id }
    assert_operator forgotten.fill, :>, 0
    assert Process.wait2(fork { exit!(0) }).last.success?
    assert_equal 0.0, forgotten.fill, "its journal is let go"
  end

  # It took the files of its parent, which had delivered everything, for its own, and deleted them.
  def test_a_fork_that_is_not_announced_leaves_the_journal_to_its_parent
    events = sink { |_| nil } << { n: 1 }
    assert events.flush
    segments = Dir[File.join(@folder, "events", "**", "*.segment")]
    assert_equal 1, segments.size
    unannounced = Process.method(:_fork)
    unannounced = unannounced.super_method while unannounced.super_method
    pid = unannounced.call
    if pid.zero?
      events.close
      exit!(0)
    end
    assert_predicate Process.wait2(pid).last, :success?
    assert_equal segments, Dir[File.join(@folder, "events", "**", "*.segment")]
    events << { n: 2 }
    assert events.flush
  end

  # The journal was closed between the look for it and the append, as by a fork in another thread: `Closed`, no event.
  def test_a_fork_during_a_push_refuses_no_event
    events = sink { |_| nil }
    events << { n: forking_once }
    assert_equal :disk, events.push({ n: forking_once }, durability: :disk).durability
    assert_equal 2, events.push_all([{ n: 1 }, { n: forking_once }], durability: :disk).ids.size
    assert_equal 1, events.push_items("[{}]", max: 1, with: { n: forking_once })[1]
    assert events.flush
    assert_equal [5, 5, 0, 0], account(events)
  end

  # A thread opened the journal again between the end of the old one and the fork. The child had its lock as long as it
  # lived, so nobody delivered what was queued.
  def test_a_fork_inherits_no_journal_that_is_opened_at_the_last_moment
    events = sink { |_| nil }
    events << { n: 1 }
    release = Elah::Store.method(:release_all)
    pushing = nil
    wait_for_push = lambda do
      pushing ||= Thread.new { events << { n: 2 } }
      wait_until("it has come to a wait") { pushing.stop? }
      release.call
    end
    pid = Elah::Store.stub(:release_all, wait_for_push) { fork { exit!(open_journals.size) } }
    assert_equal 0, Process.wait2(pid).last.exitstatus
    pushing.join
    wait_until("all are settled") { events.flush && account(events) == [2, 2, 0, 0] }
  end

  # The thread that forks holds the lock of the sink: a hook of a library that was loaded before Elah met it again, and
  # the child ended with a ThreadError.
  def test_a_hook_of_another_library_pushes_in_the_fork
    script = <<~RUBY
      EVENTS = Elah::Sink.new("events", folder: ARGV[0], deliver: false)
      HOOK = -> { EVENTS.push("an event", durability: :disk) }
      HOOK.call
      exit(Process.wait2(fork { exit!(0) }).last.exitstatus)
    RUBY
    assert_equal ["", 0], run_with_hook("super.tap { |pid| HOOK.call if pid.zero? }", script)
    assert_equal [2, 0, 2, 0], account(sink(deliver: false))
  end

  # On Ruby 3.1 the delivery waited for the fork, and the fork for the lock.
  def test_a_hook_of_another_library_waits_for_a_lock_that_a_delivery_holds
    script = <<~RUBY
      LOCK = Mutex.new
      holds = Queue.new
      EVENTS = Elah::Sink.new("events", folder: ARGV[0]) { |_| LOCK.synchronize { holds << true; sleep 0.05 } }
      EVENTS << "an event"
      holds.pop
      exit(Process.wait2(fork { exit!(0) }).last.exitstatus)
    RUBY
    assert_equal ["", 0], run_with_hook("LOCK.synchronize { super }", script)
  end

  # A fiber of the parent held the lock of the sink, and never ran in the child: its push ended with `fatal`.
  def test_a_fork_waits_for_an_opening_and_both_sides_can_push
    events, slow = %w[events slow].map { |name| sink(name) { |_| nil } }
    gate = Queue.new
    slow.instance_variable_get(:@delivery_worker).define_singleton_method(:open) { |*of| gate.pop && super(*of) }
    Elah.run do
      pushing = [Elah.async { slow << { n: 1 } }]
      pushing << Elah.async do
        Elah.offload { nil } # until the fork waits
        4.times { gate << true }
        events << { n: 2 }
      end
      pid = fork { exit!(open_journals.empty? && [slow, events].all? { |each| each << { n: 3 } } ? 0 : 1) }
      assert_predicate Process.wait2(pid).last, :success?
      pushing.each(&:value)
      wait_until("all are settled") { [slow, events].all? { |each| account(each) == [2, 2, 0, 0] } }
    end
  end

  def test_a_fork_shares_no_journal
    delivered = Queue.new
    events = sink { |batch| batch.each { |event| delivered << event["n"] } }
    events << { n: 1 }
    pid = fork do
      events << { n: 2 }
      exit!(events.flush ? 0 : 1)
    end
    events << { n: 3 }
    assert Process.wait2(pid).last.success?
    assert events.flush
    wait_until("all are settled") { account(events) == [3, 3, 0, 0] }
  end

  private

  # @param hook [String] the method `_fork` of a library that was loaded before Elah
  # @return [Array(String, Integer)] output and exit status
  def run_with_hook(hook, script)
    library = "module Hook; def _fork = (#{hook}); end\nProcess.singleton_class.prepend(Hook)"
    program = "#{library}\nrequire 'elah'\n#{script}"
    elah = File.expand_path("../../lib", __dir__)
    out, status = Open3.capture2e(RbConfig.ruby, "-I#{elah}", "-e", program, File.join(@folder, "events"))
    [out, status.exitstatus]
  end

  # What this process has open of journals.
  def open_journals
    Dir.children("/proc/self/fd").filter_map do |number|
      File.readlink("/proc/self/fd/#{number}")[/journal-\d+/]
    rescue SystemCallError
      nil # that of the folder itself
    end
  end

  # A value of an event that forks when it is written as JSON.
  def forking_once
    is_new = true
    Object.new.tap do |value|
      value.define_singleton_method(:to_json) do |*|
        Process.wait(fork { exit! }) if is_new
        is_new = false
        "1"
      end
    end
  end

  # Runs the block in a loop while the destination has the event `a`, and a caller waits for its delivery.
  def in_the_middle_of_an_attempt
    begun, gate, delivered = Array.new(3) { Queue.new }
    events = sink(batch_events_max: 1) do |batch|
      begun << true
      gate.pop
      batch.each { |event| delivered << event.bytes }
    end
    Elah.run do
      waiting = Elah.async { events.push("a", durability: :delivered).durability }
      begun.pop
      Elah.timeout(patience_seconds) { yield events, gate, delivered }
      assert_equal :disk, waiting.value, "its event is on disk, and the fork is not its fault"
    end
  end
end
