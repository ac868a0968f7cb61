# frozen_string_literal: true

# Shows with strace what kill -9 cannot: an event that is said to be on the disk was synced before, a sync that failed
# acknowledges nothing, and a disk that is full refuses and loses nothing.
require "test_helper"
require "support/store_process"
require "fileutils"
require "tmpdir"

class SinkSyncTest < Minitest::Test
  SYNCED = /\Af(data)?sync\(\d+<[^>]*journal-0\/0[^>]*\.segment>\)\s*= 0/.freeze
  FOLDER_SYNCED = /\Afsync\(\d+<[^>]*journal-0>\)\s*= 0/.freeze
  SINK = 'events = Elah::Sink.new("events", folder: ARGV[0], deliver: false, sync_seconds: 3600)'

  def setup
    skip "strace is not installed" unless system("strace", "-V", out: File::NULL)
    @parent = Dir.mktmpdir("elah-sink")
    @dir = File.join(@parent, "events")
  end

  def teardown
    FileUtils.remove_entry(@parent) if @parent
  end

  def test_every_receipt_of_the_disk_follows_a_completed_sync
    lines, status, calls = StoreProcess.trace(<<~RUBY, @dir, trace: "fdatasync,fsync,write")
      #{SINK}
      events << "not waited for"
      say "opened"
      5.times { say "met \#{events.push("x", durability: :disk).durability}" }
      say "met \#{events.push_all(%w[a b], durability: :disk).durability}"
    RUBY
    assert status.success?, lines.join("\n")
    assert_equal ["opened", *["met disk"] * 6], lines
    steps = calls.drop_while { |call| !call.include?("opened") }.drop(1).slice_after(/met disk/)
                 .select { |step| step.last.include?("met disk") }
    assert_equal 6, steps.size
    steps.each do |step|
      assert step.any? { |call| SYNCED.match?(call) }, "no sync before a receipt:\n#{step.join("\n")}"
    end
    assert steps.first.any? { |call| FOLDER_SYNCED.match?(call) }, "the name of the segment is on the disk too"
  end

  def test_events_that_wait_together_share_a_sync
    lines, _, calls = StoreProcess.trace(<<~RUBY, @dir, trace: "fdatasync", inject: "fdatasync:delay_exit=10000")
      #{SINK}
      Array.new(32) { Thread.new { 20.times { events.push("x", durability: :disk) } } }.each(&:join)
      say Elah::Sink::Account.of(ARGV[0], events.ledger).total.accepted
    RUBY
    assert_equal ["640"], lines
    assert_operator calls.grep(SYNCED).size, :<, 320
  end

  def test_what_nobody_waits_for_is_synced_in_time
    _, _, calls = StoreProcess.trace(<<~RUBY, @dir, trace: "fdatasync")
      events = Elah::Sink.new("events", folder: ARGV[0], deliver: false, sync_seconds: 0.01)
      events << "x"
      give_up_at = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
      synced = -> { File.read("\#{ARGV[0]}.strace").match?(/fdatasync.*journal-0.*= 0/) }
      Thread.pass until synced.call || Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up_at
      exit!(0)
    RUBY
    assert_equal 1, calls.grep(SYNCED).size
  end

  # strace counts the syncs of each thread; the second of the sink's writer is that of the second event.
  def test_a_failed_sync_is_not_acknowledged_and_stops_the_journal
    lines, = StoreProcess.trace(<<~RUBY, @dir, trace: "fdatasync", inject: "fdatasync:error=EIO:when=2")
      #{SINK}
      events.ledger
      attempt("1") { events.push("1", durability: :disk).durability }
      attempt("2") { events.push("2", durability: :disk).durability }
      attempt("3") { events.push("3").durability }
      attempt("4") { events.push("4", durability: :disk).durability }
    RUBY
    assert_equal ["1 :disk", "2 Elah::Sink::Failed", "3 Elah::Sink::Failed", "4 Elah::Sink::Failed"], lines
    lines, = StoreProcess.run(<<~RUBY, @dir)
      delivered = []
      events = Elah::Sink.new("events", folder: ARGV[0]) { |batch| delivered.concat(batch.map(&:bytes)) }
      attempt("5") { events.push("5", durability: :delivered).durability }
      say delivered.inspect
    RUBY
    assert_equal ["5 :delivered", '["1", "2", "5"]'], lines, "what was refused may arrive, what was accepted must"
  end

  def test_a_full_disk_refuses_and_loses_nothing
    lines = on_tmpfs(2, <<~RUBY)
      delivered = 0
      gone = true
      events = Elah::Sink.new("events", folder: ARGV[0], event_bytes_max: 4096, journal_bytes_max: 4 * 1024**2,
                                        retry_max_seconds: 0.01) do |batch|
        raise Elah::Unavailable, "gone" if gone
        delivered += batch.size
      end
      accepted = 0
      begin
        loop { events.push("x" * 4000) && accepted += 1 }
      rescue Elah::Sink::Full => e
        say e.message
      end
      attempt("batch") { events.push_all(["x" * 4000] * 200) }
      say "accepted some \#{accepted > 50}"
      File.delete(File.join(File.dirname(ARGV[0]), "filler"))
      gone = false
      say "all delivered \#{events.flush && delivered == accepted}"
      attempt("again") { events.push("x", durability: :delivered).durability }
    RUBY
    said = lines.grep_v(/ The sink events /)
    assert_match(/\AThe journal is full: no segment could be made/, said.shift)
    assert_equal ["batch Elah::Sink::Full", "accepted some true", "all delivered true", "again :delivered"], said
  end

  private

  # The lines of a script whose sink is on a disk of so many megabytes, of which a file fills a part.
  def on_tmpfs(megabytes, script)
    FileUtils.mkdir_p(@dir)
    mount = 'mount -t tmpfs -o size="$0" tmpfs "$1" && mkdir "$1/store" && ' \
            'head -c 500000 /dev/zero > "$1/filler" && shift && exec "$@"'
    may_mount = system("unshare", "--mount", "sh", "-c", mount, "1m", @dir, "true", err: File::NULL)
    skip "this user may not mount" unless may_mount
    lines, status = StoreProcess.run(script, File.join(@dir, "store"),
                                     under: ["unshare", "--mount", "sh", "-c", mount, "#{megabytes}m", @dir])
    assert status.success?, "#{status}:\n#{lines.join("\n")}"
    lines
  end
end
