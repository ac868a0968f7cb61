# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../cache_control"
require_relative "../order"
require_relative "../record"

# The fields of a link in a request; times, orders and cache lifetimes.
class FieldsTest < Minitest::Test
  NOW = 1_700_000_000_000

  def test_an_empty_change_changes_the_time_only
    link = Links::Link.new(target: "https://example.com/", status: 301, title: "t", tags: ["a"], max_visits: 3)
    before = link.to_h
    apply({}, link)
    assert_equal before.merge(updated_at: NOW), link.to_h
  end

  def test_null_removes_limits_title_and_tags
    link = Links::Link.new(target: "https://example.com/", status: 301, title: "t", tags: ["a"], max_visits: 3,
                           not_before: 1, expires_at: 2)
    apply({ "title" => nil, "tags" => nil, "max_visits" => nil, "not_before" => nil, "expires_at" => nil,
            "status" => nil }, link)
    assert_equal [nil, [], nil, nil, nil, 302],
                 [link.title, link.tags, link.max_visits, link.not_before, link.expires_at, link.status]
  end

  def test_expiry_by_time_or_by_seconds
    assert_equal NOW + 60_000, apply({ "expires_in" => 60 }).expires_at
    assert_equal NOW + 60_000, apply({ "expires_in" => 60, "expires_at" => nil }).expires_at
    assert_equal 1_893_456_000_000, apply({ "expires_at" => "2030-01-01T00:00:00Z" }).expires_at
    assert_equal "invalid_expiry", refusal({ "expires_in" => 60, "expires_at" => "2030-01-01T00:00:00Z" })
    assert_equal "invalid_expiry",
                 refusal({ "not_before" => "2030-01-01T00:00:00Z", "expires_at" => "2030-01-01T00:00:00Z" })
  end

  def test_values_out_of_range
    { "target" => [1, "x"], "status" => [200, 303, "302", 302.0], "expires_in" => [0, -1, 1.5, "60", 315_360_001],
      "expires_at" => [1, "tomorrow", "2030-01-01", "1960-01-01T00:00:00Z"], "not_before" => [1, "now"],
      "max_visits" => [0, -1, 1.5, "3", (2**53) + 1], "title" => [1, "a" * 201, "a\nb", "a\u0000"],
      "tags" => ["a", [1], [""], ["a b"], ["a,b"], ["a" * 65], ["a\n"],
                 Array.new(21) { |index| "t#{index}" }] }.each do |name, values|
      values.each do |value|
        assert_match(/\A(invalid|scheme)_/, refusal({ name => value }), "#{name}: #{value.inspect}")
      end
    end
  end

  def test_times
    { "2024-02-29T23:59:59Z" => 1_709_251_199_000, "2024-02-29T23:59:59.5+02:00" => 1_709_243_999_500,
      "2024-02-29t23:59:59.1239z" => 1_709_251_199_123,
      "1970-01-01T00:00:00-01:00" => 3_600_000 }.each do |text, milliseconds|
      assert_equal milliseconds, Links::Timestamp.parse(text), text
      assert_equal milliseconds, Links::Timestamp.parse(Links::Timestamp.format(milliseconds))
    end
    ["2023-02-29T00:00:00Z", "2023-04-31T00:00:00Z", "2023-13-01T00:00:00Z", "2023-00-01T00:00:00Z",
     "2023-01-01T25:00:00Z", "2023-01-01T00:60:00Z", "2023-01-01T00:00:60Z", "2023-01-01T00:00:00",
     "2023-01-01 00:00:00Z", "2023-01-01T00:00:00+25:00", "2023-01-01T00:00:00Z\n"].each do |text|
      assert_nil Links::Timestamp.parse(text), text
    end
  end

  def test_an_imported_link_without_a_time_begins_now_and_keeps_its_visits
    given = { "target" => "https://example.com/", "visits" => 4 }
    [given, given.merge("created_at" => nil)].each do |fields|
      order = Links::Order.read_imported(fields, own: [], now: NOW, reuse: false)
      assert_equal NOW, order.link.created_at
      assert_equal 4, order.visits
    end
    ["yesterday", 0, ""].each do |time|
      wrong = given.merge("created_at" => time)
      error = assert_raises(Links::Invalid) { Links::Order.read_imported(wrong, own: [], now: NOW, reuse: false) }
      assert_equal "invalid_time", error.code
    end
  end

  def test_an_order_must_not_have_expired_but_an_imported_one_may
    given = { "target" => "https://example.com/", "expires_at" => "2020-01-01T00:00:00Z",
              "created_at" => "2019-01-01T00:00:00Z", "visits" => 4 }
    assert_equal "invalid_expiry", assert_raises(Links::Invalid) { Links::Order.read(given, own: [], now: NOW) }.code
    order = Links::Order.read_imported(given, own: [], now: NOW, reuse: false)
    assert_equal [1_546_300_800_000, 4, false], [order.link.created_at, order.visits, order.custom?]
    [-1, 1.5, "4"].each do |visits|
      assert_raises(Links::Invalid) do
        Links::Order.read_imported(given.merge("visits" => visits), own: [], now: NOW, reuse: false)
      end
    end
  end

  def test_every_link_survives_its_record
    random = Random.new(7)
    300.times do
      link = random_link(random)
      redirect = Links::Record.redirect(link)
      assert_equal link, Links::Record.read("code", redirect, Links::Record.details(link))
      assert_equal link.status == 302 && !link.limited?, Links::Record.plain?(redirect)
      assert_equal redirect, link.target.b if Links::Record.plain?(redirect)
    end
  end

  def test_how_long_a_redirect_may_be_cached
    assert_equal "private, max-age=0", cache(status: 302)
    assert_equal "private, max-age=0", cache(status: 307, expires_at: NOW + 5000)
    assert_equal "public, max-age=86400", cache(status: 301)
    assert_equal "public, max-age=86400", cache(status: 308, expires_at: NOW + (10 * 86_400_000))
    assert_equal "public, max-age=5", cache(status: 308, expires_at: NOW + 5999)
    assert_equal "public, max-age=0", cache(status: 301, expires_at: NOW + 1)
    assert_equal "no-store", cache(status: 301, max_visits: 1)
  end

  private

  def apply(given, link = Links::Link.new(target: "https://example.com/", status: 302, tags: []))
    Links::Fields.new(given, own: [], now: NOW).apply(link)
  end

  def refusal(given) = assert_raises(Links::Invalid) { apply(given) }.code

  def cache(**fields) = Links::CacheControl.for(Links::Link.new(**fields), NOW)

  def random_link(random)
    maybe = ->(value) { random.rand(2).zero? ? nil : value }
    Links::Link.new(
      code: "code", target: "https://example.com/#{'x' * random.rand(4000)}",
      status: Links::Link::STATUSES[random.rand(4)], not_before: maybe[random.rand(1..NOW)],
      expires_at: maybe[random.rand(1..NOW)], max_visits: maybe[random.rand(1..(2**53))],
      created_at: NOW, updated_at: NOW + 1, title: maybe["Ein Titel ü"],
      tags: ["a", "größe", "b:c"].first(random.rand(4))
    )
  end
end
