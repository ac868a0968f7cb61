# frozen_string_literal: true

require_relative "store_cases"
require_relative "../stores/mongo"
require "support/cutting_proxy"
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

  def test_a_request_whose_process_died_is_carried_out_as_it_was_planned
    request = Links::StoredRequest.new("key", "body")
    self.class.mongo["requests"].insert_one({ _id: "key", k: request.plan(order("a").link), e: Time.now + 60 })
    assert_equal [[:mismatch, nil]], outcomes(order("b", request: Links::StoredRequest.new("key", "other")))
    assert_equal [[:created, "a"]], outcomes(order("b", request: request))
    assert_equal [[:repeated, "a"]], outcomes(order("c", request: request))
  end

  def test_a_request_of_yesterday_is_forgotten
    request = Links::StoredRequest.new("key", "body")
    self.class.mongo["requests"].insert_one({ _id: "key", k: request.encode("gone"), e: Time.now - 1 })
    assert_equal [[:created, "a"]], outcomes(order("a", request: request))
    assert_equal [[:repeated, "a"]], outcomes(order("b", request: request))
  end

  # The key was released although the insert had run, so the next attempt made a second link. So it did
  # when expires_in was counted from the next attempt: that was another link.
  def test_a_link_whose_reply_is_lost_is_made_once
    request = Links::StoredRequest.new("key", "body")
    CuttingProxy.start(Servers::MongoJavaServer.shared.port) do |proxy|
      mongo = Elah::Mongo.new("mongodb://127.0.0.1:#{proxy.port}/#{Servers::MongoJavaServer::DATABASE}")
      proxy.loses_answer_to = "insert\0\x06\0\0\0links\0"
      lost = order("a", request: request, expires_at: @time + 60_000)
      assert_raises(Elah::Unavailable) { Links::Stores::Mongo.new(mongo).create([lost]) }
      mongo.close
    end
    assert_equal [[:repeated, "a"]], outcomes(order("b", request: request, expires_at: @time + 63_000))
    assert_equal %w[a], @store.links_after(nil, 9).map(&:code)
  end

  def test_a_link_beside_another_for_its_target_is_made_once
    create("first")
    request = Links::StoredRequest.new("key", "body")
    planned = order("a", request: request)
    assert_equal [[:created, "a"]], outcomes(planned)
    unfinished = { k: request.plan(planned.link), e: Time.now + 60 }
    self.class.mongo["requests"].replace_one({ _id: "key" }, unfinished)
    assert_equal [[:repeated, "a"]], outcomes(order("b", request: request))
    assert_equal 2, @store.size
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
