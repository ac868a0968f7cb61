# frozen_string_literal: true

require_relative "../stores/mongo"
require_relative "store_checks"
require_relative "uniformity_checks"
require_relative "../../../test/support/servers"

# The store on mongo-java-server, which speaks MongoDB's protocol.
class ItemsMongoJavaServerStoreTest < Minitest::Test
  include StoreChecks
  include UniformityChecks

  def setup
    @mongo = Elah::Mongo.new(Servers::MongoJavaServer.shared.url, query_seconds: 30)
    %w[items item_slots].each { |name| @mongo[name].drop }
    @store = Items::Stores::Mongo.new(@mongo)
  end

  def teardown = @mongo.close

  def test_a_change_whose_writer_died_is_finished_by_the_next_reader
    @store.insert((1..5).map { |number| item(number, tags: %w[a b]) })
    state = @mongo["items"].find_one({ "_id" => -1 })
    slots = @mongo["items"].find({ "_id" => { "$in" => [0, 4] } }).to_h { |found| [found["_id"], found] }
    steps = [{ "c" => "items", "_id" => 0, "d" => slots[4].except("_id") },
             { "c" => "items", "_id" => 4, "i" => slots[4]["i"] }]
    @mongo["items"].update_one({ "_id" => -1 },
                               { "$set" => { "b" => true, "p" => steps, "n.=" => 4 }, "$inc" => { "v" => 1 } })
    assert_equal [4, slots[4]["d"]], @store.fetch(0)
    assert_nil @store.find(uuid(1))
    assert_equal state["v"] + 1, @mongo["items"].find_one({ "_id" => -1 })["v"]
    @store.insert([item(6, tags: [])])
    assert_equal 5, @store.size
  end

  # Draws failed with a NoMethodError for nil until the app was restarted.
  def test_a_server_that_has_lost_everything_starts_empty
    @store.insert([item(1)])
    %w[items item_slots].each { |name| @mongo[name].drop }
    assert_equal [[0, nil], 0], [@store.fetch(0), @store.size]
    @store.insert([item(2)])
    assert_equal [1, 0], [@store.size, @store.size("b")]
  end

  # A reader finished a change after its writer had done so and had made the next one: it overwrote new documents with
  # old ones.
  def test_a_reader_finishes_no_change_while_its_writer_runs
    @store.insert([item(1, tags: [])])
    items = @mongo["items"]
    old = items.find_one({ "_id" => 0 }).except("_id").merge("d" => "of an old change")
    state = Items::Stores::Mongo::State.new(items, @mongo["item_slots"])
    Elah.run do
      reader = nil
      state.change do
        items.update_one({ "_id" => -1 },
                         { "$set" => { "b" => true, "p" => [{ "c" => "items", "_id" => 0, "d" => old }] } })
        reader = Elah.async { state.read }
        5.times { refute_equal "of an old change", items.find_one({ "_id" => 0 })["d"] }
        refute_predicate reader, :done?
        nil
      end
      refute reader.value["b"]
      assert_equal "of an old change", items.find_one({ "_id" => 0 })["d"]
    end
  end

  private

  # mongo-java-server looks through all documents for each list of uuids.
  def rows = 2_000
  def block = 2_000
end
