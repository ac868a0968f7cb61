# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../item"
require_relative "../slots"

# What every store of the app must do. A test of one has its store in @store, empty.
module StoreChecks
  def test_an_empty_store
    assert_equal [0, [0, nil], [0, [nil, nil]]], [@store.size, @store.fetch(0), @store.fetch_many([0, 7])]
    assert_equal [[], nil], @store.page(after: 0, limit: 10)
    assert_nil @store.find(uuid(1))
    assert_equal 0, @store.delete([uuid(1), "none"])
    assert_equal 0, @store.loaded
  end

  def test_items_are_found_as_they_were_stored
    documents = @store.insert([item(1, tags: %w[a b]), item(2, name: "Grüße \u{1F600} \"\\ </x>\n", tags: [])])
    assert_equal([1, 2], documents.map { |document| parsed(document)["id"] })
    assert_equal documents.map(&:b), (1..2).map { |number| @store.find(uuid(number)).b }
    assert_equal documents[1].b, item(2, name: "Grüße \u{1F600} \"\\ </x>\n", tags: []).document(2).b
    assert_equal [3], @store.insert([item(3)]).map { |document| parsed(document)["id"] }
    assert_nil @store.find("none")
    assert_nil @store.find("'; --\0")
  end

  def test_a_repeated_uuid_refuses_all_items_of_the_call
    @store.insert([item(1)])
    assert_raises(Items::Duplicate) { @store.insert([item(2), item(1)]) }
    assert_equal [1, nil], [@store.size, @store.find(uuid(2))]
    assert_positions_dense
  end

  def test_positions_stay_dense
    random = Random.new(1)
    live = []
    number = 0
    12.times do
      items = Array.new(random.rand(1..12)) { item(number += 1, tags: %w[a b c].select { random.rand(2).zero? }) }
      @store.insert(items)
      live.concat(items)
      gone = live.sample(random.rand(0..live.size), random: random)
      assert_equal gone.size, @store.delete(gone.map(&:uuid) + ["none"])
      live -= gone
      assert_positions_dense(live)
    end
  end

  def test_ids_are_never_used_twice
    @store.insert([item(1), item(2)])
    @store.delete([uuid(2), uuid(2)])
    assert_equal 1, @store.size
    assert_equal [3], @store.insert([item(2)]).map { |document| parsed(document)["id"] }
    @store.delete([uuid(1), uuid(2)])
    assert_equal [4], @store.insert([item(1)]).map { |document| parsed(document)["id"] }
  end

  def test_pages
    @store.insert((1..9).map { |number| item(number, tags: number.odd? ? ["odd"] : %w[even odder]) })
    @store.delete([uuid(4)])
    assert_equal [[1, 2, 3], 3], page(0, 3)
    assert_equal [[5, 6, 7], 7], page(3, 3)
    assert_equal [[8, 9], nil], page(7, 3)
    assert_equal [[3, 5], 5], page(1, 2, "odd")
    assert_equal [[6, 8], nil], page(4, 3, "odder")
    assert_equal [[], nil], page(0, 3, "od")
  end

  def test_how_much_was_loaded_is_stored_with_the_items
    @store.insert([item(1)], loaded: 1)
    assert_raises(Items::Duplicate) { @store.insert([item(2), item(1)], loaded: 3) }
    @store.insert([item(3)])
    assert_equal 1, @store.loaded
  end

  private

  def uuid(number) = format("00000000-0000-4000-8000-%012d", number)

  def item(number, name: "Item #{number}", tags: %w[a])
    Items::Item.new(uuid: uuid(number), name: name, description: "", created_at: "2026-01-01T00:00:00.000Z", tags: tags)
  end

  def parsed(document) = Elah::JSON.parse(document)

  def page(after, limit, scope = Items::Slots::ALL)
    documents, last = @store.page(after: after, limit: limit, scope: scope)
    [documents.map { |document| parsed(document)["id"] }, last]
  end

  # Each item of each scope has exactly one of the positions from 0 on, by either look-up.
  def assert_positions_dense(live = nil)
    scopes = { Items::Slots::ALL => live }
    %w[a b c].each { |tag| scopes[tag] = live.select { |item| item.tags.include?(tag) } } if live
    scopes.each do |scope, items|
      size = @store.size(scope)
      looks = (0..size).map { |position| @store.fetch(position, scope) }
      assert_equal [size], looks.map(&:first).uniq
      documents = looks.map(&:last)
      assert_equal [size, documents], @store.fetch_many((0..size).to_a, scope)
      assert_nil documents.pop
      uuids = documents.map { |document| parsed(document)["uuid"] }
      assert_equal uuids.uniq, uuids
      assert_equal items.map(&:uuid).sort, uuids.sort if items
    end
  end
end
