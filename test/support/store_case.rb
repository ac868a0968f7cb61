# frozen_string_literal: true

require "fileutils"
require "tmpdir"

# A test with a store of its own in a temporary directory, and a clock that the test moves.
class StoreCase < Minitest::Test
  def setup
    @dir = Dir.mktmpdir("elah-store")
    @clock = Elah::Store::Clock.new(Time.at(1_000_000))
    @store = Elah::Store.open(@dir, clock: @clock, bytes_max: 64 * 1024**2, sweep_seconds: 3600)
    @table = @store.table("links")
    @counter = @store.counter("visits")
  end

  def teardown
    @store.close
    FileUtils.remove_entry(@dir)
  end
end
