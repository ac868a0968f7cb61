# frozen_string_literal: true

require_relative "../test_helper"
require_relative "patience"
require "fileutils"
require "stringio"
require "tmpdir"

# A test with sinks of its own in a temporary folder, a clock that the test moves, and pauses that are noted and hardly
# kept.
class SinkCase < Minitest::Test
  include Patience

  # The shortest pause lets others run.
  PAUSE_SECONDS = 0.001
  ADOPT_SECONDS = 0.25

  def setup
    @folder = Dir.mktmpdir("elah-sink")
    @clock = Elah::Store::Clock.new(Time.at(6_000_000))
    @pauses = Queue.new
    @sinks = []
    @log = StringIO.new
    Elah::Log.current = Elah::Log.new(out: @log)
  end

  def teardown
    @sinks.each(&:close)
    Elah::Log.current = nil
    # A thread that delivers ends a moment after its sink has closed, and may write until then.
    wait_until("the folder is gone") { FileUtils.rm_rf(@folder) && !File.exist?(@folder) }
  end

  # @return [Elah::Sink] closed at the end of the test
  def sink(name = "events", **options, &block)
    options = { folder: File.join(@folder, name), clock: @clock, pause: method(:pause), linger_seconds: 0.0,
                adopt_seconds: ADOPT_SECONDS, **options }
    Elah::Sink.new(name, **options, &block).tap { |made| @sinks << made }
  end

  def pause(seconds)
    @pauses << seconds unless seconds.equal?(ADOPT_SECONDS)
    Kernel.sleep(PAUSE_SECONDS)
  end

  # @return [Thread] with the block's call, which waited for the lock of a sink's folder
  def while_locked(folder)
    File.open(folder) do |file|
      file.flock(File::LOCK_EX)
      waiting = "FLOCK .* #{Process.pid} [^ ]*:#{file.stat.ino} "
      Thread.new { yield }.tap do |second|
        wait_until("the call waits for the lock") { File.read("/proc/locks").match?(/-> #{waiting}/) }
        assert_predicate second, :alive?
      end
    end
  end

  # @return [Array(Integer, Integer, Integer, Integer)] accepted, delivered, queued, dead; the law is checked
  def account(sink)
    account = Elah::Sink::Account.of(sink.folder, sink.ledger)
    assert_predicate account, :holds?, account.sums.inspect
    account.total.to_a
  end
end
