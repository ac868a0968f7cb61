# frozen_string_literal: true

require "fileutils"
require "stringio"
require "tmpdir"

# A store with a clock that the test moves, and a log that it reads, beside what the test itself sets up.
module TimedStore
  START = Time.at(1_000_000)

  def setup
    super
    @log = StringIO.new
    Elah::Log.current = Elah::Log.new(out: @log)
    @clock = Elah::Store::Clock.new(START)
    @timed_dir = Dir.mktmpdir("elah-timed")
    @timed = Elah::Store.open(@timed_dir, bytes_max: 64 * 1024**2, clock: @clock)
  end

  def teardown
    Elah::Log.current = nil
    @timed.close
    FileUtils.remove_entry(@timed_dir)
    super
  end
end
