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

  def test_a_change_whose_writer_died_is_written_out_by_whoever_comes
    @store.insert((1..5).map { |number| item(number, tags: %w[a b]) })
    state = @mongo["items"].find_one({ "_id" => -1 })
    slots = @mongo["items"].find({ "_id" => { "$in" => [0, 4] } }).to_h { |found| [found["_id"], found] }
    steps = [{ "c" => "items", "_id" => 0, "d" => slots[4].except("_id") }, { "c" => "items", "_id" => 4, "i" => slots[4]["i"] }]
    @mongo["items"].update_one({ "_id" => -1 }, { "$set" => { "b" => true, "p" => steps, "n.=" => 4 }, "$inc" => { "v" => 1 } })
    assert_equal [4, slots[4]["d"]], @store.look(0)
    assert_nil @store.find(uuid(1))
    assert_equal state["v"] + 1, @mongo["items"].find_one({ "_id" => -1 })["v"]
    @store.insert([item(6, tags: [])])
    assert_equal 5, @store.size
  end

  private

  # mongo-java-server looks through all documents for each list of uuids.
  def rows = 2_000
  def block = 2_000
end
