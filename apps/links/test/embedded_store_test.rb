# frozen_string_literal: true

require_relative "store_cases"
require_relative "../stores/embedded"
require "fileutils"
require "tmpdir"

# The embedded store behind the app's store interface.
class EmbeddedStoreTest < Minitest::Test
  include StoreCases

  def setup
    @folder = Dir.mktmpdir("links-store")
    @elah_store = Elah::Store.open(@folder, bytes_max: 64 * 1024**2)
    super
  end

  def teardown
    @elah_store.close
    FileUtils.remove_entry(@folder)
  end

  def test_a_new_link_ignores_the_visits_that_a_dead_process_left
    @elah_store.counter("visits").increment("abc", by: 9)
    outcomes(order("abc", visits: 4))
    assert_equal 4, @store.visits("abc")
  end

  private

  def open_store = Links::Stores::Embedded.new(@elah_store)
end
