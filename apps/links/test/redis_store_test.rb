# frozen_string_literal: true

require_relative "store_cases"
require_relative "../stores/redis"
require "support/cutting_proxy"
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

  def test_a_request_whose_process_died_is_carried_out_as_it_was_planned
    request = Links::StoredRequest.new("key", "body")
    @redis.set("links:request:key", request.plan(order("abc").link), ex: 60)
    assert_equal [[:mismatch, nil]], outcomes(order("b", request: Links::StoredRequest.new("key", "other")))
    assert_equal [[:created, "abc"]], outcomes(order("b", request: request))
    assert_equal [[:repeated, "abc"]], outcomes(order("c", request: request))
    assert_operator @redis.ttl("links:request:key"), :>, Links::StoredRequest::KEPT_SECONDS - 60
  end

  # The key was released although the script had run, so the next attempt made a second link. So it did
  # when expires_in was counted from the next attempt: that was another link.
  def test_a_link_whose_reply_is_lost_is_made_once
    create("first") # from now on the server has the script
    request = Links::StoredRequest.new("key", "body")
    CuttingProxy.start(Servers::Redis.shared.port) do |proxy|
      redis = Elah::Redis.new("redis://127.0.0.1:#{proxy.port}/0")
      proxy.loses_answer_to = "links:link:"
      lost = order("a", request: request, expires_at: @time + 60_000)
      assert_raises(Elah::Unavailable) { Links::Stores::Redis.new(redis).create([lost]) }
      redis.close
    end
    assert_equal [[:repeated, "a"]], outcomes(order("b", request: request, expires_at: @time + 63_000))
    assert_equal %w[a first], @store.links_after(nil, 9).map(&:code)
    assert_equal %w[a first], pages(limit: 9)
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
    assert_output(nil, /\A\d{4}-\d\d-\d\dT\S+Z WARN .*redirected and not counted: .*OOM/m) do
      2.times { @store.count_visit("abc") && @store.redirect("abc") }
    end
  ensure
    @redis.call("CONFIG", "SET", "maxmemory", "0")
  end

  private

  def open_store = Links::Stores::Redis.new(@redis)
end
