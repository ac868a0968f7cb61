# frozen_string_literal: true

require_relative "store_cases"
require_relative "../stores/redis"
require "support/servers"

# The store in Redis behind the app's store interface.
class RedisStoreTest < Minitest::Test
  include StoreCases

  def setup
    @redis = Elah::Redis.new(Servers::Redis.shared.url)
    @redis.call("FLUSHDB")
    super
  end

  def teardown
    @redis.close
  end

  def test_index_entries_of_a_dead_process_are_not_shown
    link = create("abc", tags: %w[a], target: "https://example.org/")
    @redis.del("links:link:abc")
    create("def", tags: %w[a])
    assert_equal [%w[def], %w[def]], [pages(limit: 9), pages(limit: 9, tag: "a")]
    assert_equal %w[def], @store.links_after(nil, 1).map(&:code)
    assert_equal [[:created, "ghi"]], outcomes(order("ghi", reuse: true, target: link.target))
    assert_equal [[:found, "ghi"]], outcomes(order("x", reuse: true, target: link.target))
  end

  def test_a_request_whose_process_died_may_be_repeated_after_some_seconds
    request = Links::StoredRequest.new("key", "body")
    @redis.set("links:request:key", "at it and gone", px: 50)
    assert_equal [[:created, "abc"]], outcomes(order("abc", request: request))
    assert_operator @redis.ttl("links:request:key"), :>, Links::StoredRequest::KEPT_SECONDS - 60
  end

  # The entry of a code was that of every link with it: the deletion of a link took that of the next one away.
  def test_a_link_made_while_the_one_before_is_deleted_is_exported
    before = create("abc")
    @redis.del("links:link:abc")
    link = create("abc", target: "https://example.org/")
    Links::Stores::Redis::Index.new(@redis).remove(before)
    assert_equal [[link], 1], [@store.links_after(nil, 9), @store.size]
    create("abcd")
    assert_equal %w[abcd], @store.links_after("abc", 9).map(&:code)
  end

  def test_concurrent_repetitions_of_a_request_create_one_link
    orders = Array.new(8) { |index| order("c#{index}", request: Links::StoredRequest.new("key", "body")) }
    found = orders.map { |order| Thread.new { @store.create([order]).first } }.map(&:value)
    assert_equal({ created: 1, repeated: 7 }, found.map(&:kind).tally)
    assert_equal 1, found.map(&:code).uniq.size
  end

  def test_a_full_server_refuses_links_and_counts_stay_right
    create("abc", max_visits: 5)
    @redis.call("CONFIG", "SET", "maxmemory", "1")
    assert_raises(Elah::Store::Full) { create("def") }
    assert_raises(Elah::Store::Full) { @store.update("abc") { |link| link.title = "new" } }
    assert_equal TARGET, @store.find("abc").target
    assert_output(nil, /\A\d{4}-\d\d-\d\dT\S+Z WARN .*redirected and not counted: .*OOM/m) { 2.times { @store.count_visit("abc") && @store.redirect("abc") } }
  ensure
    @redis.call("CONFIG", "SET", "maxmemory", "0")
  end

  private

  def open_store = Links::Stores::Redis.new(@redis)
end
