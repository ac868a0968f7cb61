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

  # Lets time pass for what expires.
  def let_pass(seconds) = @clock.advance(seconds)

  # The same store by another call of `open`.
  def open_again = Elah::Store.open(@dir, bytes_max: 64 * 1024**2)

  # Makes test classes of a module of cases: one on a folder, one on a cluster's database.
  #
  # @param cases [Module]
  def self.on_each_store(cases)
    require_relative "cluster_case"
    { FolderTest: StoreCase, ClusterTest: ClusterCase }.each do |name, test_class|
      cases.const_set(name, Class.new(test_class) { include cases })
    end
  end
end
