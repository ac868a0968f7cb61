# frozen_string_literal: true

require "test_helper"
require "open3"
require "tmpdir"

# A sink at the limit of processes, which counts threads too: opening and reading a journal take one.
class SinkProcessLimitTest < Minitest::Test
  LIB = File.expand_path("../../../lib", __dir__)
  SCRIPT = <<~RUBY
    require "elah"
    require "stringio"
    Process::UID.change_privilege(65_534) if Process.euid.zero? # there is no limit for root
    Elah::Log.current = Elah::Log.new(out: log = StringIO.new)
    folder = File.join(ARGV.first, "events")
    ready, tells = IO.pipe
    other = fork do
      Elah::Sink.new("events", folder: folder, deliver: false).push("other", durability: :disk)
      tells.puts
      sleep
    end
    ready.gets
    is_gone = true
    bounds = { adopt_seconds: 0.01, retry_max_seconds: 0.01 }
    events = Elah::Sink.new("events", folder: folder, **bounds) { raise Elah::Unavailable if is_gone }
    closed = Elah::Sink.new("closed", folder: File.join(ARGV.first, "closed")) { nil }
    files = Elah::Sink::ParquetFiles.new(File.join(ARGV.first, "files"))
    event = Elah::Sink::Event.new(Elah::Sink::Id.raw(Elah::Sink.id_of("a")), "", 0, false, "a")
    due = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 60
    wait = ->(&done) { sleep 0.01 until done.call || Process.clock_gettime(Process::CLOCK_MONOTONIC) > due }
    at_exit { Process.kill(:KILL, other) }
    error = ->(&call) { call.call && nil rescue $!.class.name }
    events.push("own", durability: :disk)
    [closed, events].each(&:ledger)

    Process.setrlimit(:NPROC, 1, Process.getrlimit(:NPROC).last)
    puts error.call { closed << "a" }, error.call { events.report }, error.call { files.deliver([event]) }
    wait.call { log.string.include?("cannot take a journal over") }
    Process.setrlimit(:NPROC, *[Process.getrlimit(:NPROC).last] * 2)

    Process.kill(:KILL, other)
    is_gone = false
    wait.call { events.report["total"]["delivered"] == 2 }
    puts error.call { closed << "a" }, error.call { files.deliver([event]) }, events.report["total"]["delivered"]
  RUBY

  # The thread that was refused was a panic, which nothing rescues. It ended the delivery until the next event, and made
  # dead letters of good events.
  def test_a_sink_goes_on_after_the_limit
    Dir.mktmpdir do |folder|
      File.chmod(0o777, folder)
      out, status = Open3.capture2(RbConfig.ruby, "-I#{LIB}", "-e", SCRIPT, folder)
      assert_equal ["Elah::Sink::CannotOpen", "Elah::Sink::Unreadable", "Errno::EAGAIN", "", "", "2"],
                   out.lines(chomp: true)
      assert_predicate status, :success?
    end
  end
end
