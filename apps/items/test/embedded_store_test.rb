# frozen_string_literal: true

require_relative "../stores/embedded"
require_relative "store_checks"
require_relative "uniformity_checks"
require "fileutils"
require "tmpdir"

# The embedded store.
class ItemsEmbeddedStoreTest < Minitest::Test
  include StoreChecks
  include UniformityChecks

  def setup
    @folder = Dir.mktmpdir("items-store")
    @elah_store = Elah::Store.open(@folder, bytes_max: 1024**3)
    @store = Items::Stores::Embedded.new(@elah_store)
  end

  def teardown
    @elah_store.close
    FileUtils.remove_entry(@folder)
  end

  def test_draws_of_many_are_uniform_too
    uuids = fill(1_000)
    delete(uuids.shift(300))
    @draws_many = true
    assert_uniform(uuids)
    refute_uniform(uuids)
  end

  private

  # One by one, which is the quicker way here; over a network it is the other.
  def draws(draw, scope, &block)
    @draws_many ? super : DRAWS.times { block.call(draw.one(scope)) }
  end
end
