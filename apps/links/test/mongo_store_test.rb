# frozen_string_literal: true

require_relative "store_cases"
require_relative "../stores/mongo"
require "support/servers"

# The store on MongoDB's protocol behind the app's store interface, on mongo-java-server.
class MongoStoreTest < Minitest::Test
  include StoreCases

  def self.mongo = @mongo ||= Elah::Mongo.new(Servers::MongoJavaServer.shared.url)

  def setup
    %w[links service requests].each { |name| self.class.mongo[name].drop }
    Links::Stores::Mongo.new(self.class.mongo).create_indexes
    super
  end

  def test_a_claim_that_a_dead_process_left_is_taken_over
    request = Links::StoredRequest.new("key", "body")
    self.class.mongo["requests"].insert_one({ _id: "key", k: request.encode(""), e: Time.now - 1, o: true })
    assert_equal [[:created, "a"]], outcomes(order("a", request: request))
    assert_equal [[:repeated, "a"]], outcomes(order("b", request: request))
  end

  def test_one_of_equal_concurrent_requests_creates
    orders = Array.new(8) { |index| order("c#{index}", request: Links::StoredRequest.new("key", "body")) }
    found = orders.map { |order| Thread.new { @store.create([order]).first } }.map(&:value)
    assert_equal [1, 7, 1, 1], [*found.map(&:kind).tally.values_at(:created, :repeated),
                                found.map(&:code).uniq.size, @store.size]
  end

  def test_a_failed_request_releases_its_key
    request = Links::StoredRequest.new("key", "body")
    failing = order("a", request: request)
    failing.link.tags = ["\xFF"]
    assert_raises(Elah::Mongo::InvalidValue) { @store.create([failing]) }
    assert_equal [[:created, "a"]], outcomes(order("a", request: request))
  end

  private

  def open_store = Links::Stores::Mongo.new(self.class.mongo)
end
