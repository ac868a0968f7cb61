# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../../../test/support/servers"
require_relative "../loader"
require_relative "../service"
require_relative "../stores"
require "tmpdir"

# What clients see does not depend on the store.
class ItemsSameBytesTest < Minitest::Test
  Place = Struct.new(:store, :data, :store_bytes_max)

  def test_every_store_has_the_same_bytes_and_draws_the_same_by_a_seed
    urls = [Servers::PostgreSQL, Servers::MariaDB, Servers::MongoJavaServer].map { |server| server.shared.url }
    seen = ["embedded", *urls].map do |store|
      Dir.mktmpdir { |folder| history(Items::Stores.open(Place.new(store, folder, 100_000_000))) }
    end
    assert_equal 1, seen.uniq.size
    assert_equal [20, 5, 17, 7], seen.first.map(&:size)
  end

  private

  # Applies the same changes to a store, and reads its content in every way.
  def history(store)
    Items::Loader.new(store, batch: 70).run(200) { nil }
    store.delete((0...200).step(3).map { |number| Items::SampleItems.item(number).uuid })
    Items::Loader.new(store, batch: 70).run(250) { nil }
    draw = Items::Service.new(store).draw
    colour = Items::SampleItems::COLOURS.first
    [draw.many(20, seed: 1), draw.many(5, seed: 2, tag: colour, distinct: false),
     store.page(after: 30, limit: 17).first,
     store.page(after: 0, limit: 7, scope: colour).first].map { |documents| documents.map(&:b) }
  end
end
