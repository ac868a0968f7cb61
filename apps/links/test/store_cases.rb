# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../codes/generator"
require_relative "../creation"
require_relative "../errors"
require_relative "../order"

# Owns what every store of the shortener must do. A test of a store includes this, makes an empty store in its `setup`
# and calls `super`; `open_store` gives another object on the same data.
module StoreCases
  TARGET = "https://example.com/"

  def setup
    @store = open_store
    @time = 1_700_000_000_000
  end

  def test_a_link_is_found_as_it_was_created
    link = create("abc", status: 308, max_visits: 3, title: "Ü", tags: %w[a b])
    assert_equal link, @store.find("abc")
    assert_nil @store.find("abd")
    assert_nil @store.redirect("")
    assert_nil @store.redirect("x" * 9000)
    assert_equal 1, @store.size
  end

  def test_the_place_of_a_page_is_one_that_a_link_may_have
    2.times { |n| create("code-#{n}") }
    assert @store.place?(@store.page(limit: 1).last.b)
    ["", "\0" * 3, "\0" * 8, "\xFF" * 9, "\0" * 5000, "größe" * 4].each do |place|
      refute @store.place?(place.b), place.inspect
    end
  end

  def test_a_code_is_taken_once
    create("abc")
    assert_equal [[:taken, "abc"]], outcomes(order("abc", target: "https://example.org/"))
    assert_equal TARGET, @store.find("abc").target
  end

  def test_one_commit_creates_many_and_refuses_repetitions_among_them
    assert_equal [[:created, "a"], [:created, "b"], [:taken, "a"]], outcomes(order("a"), order("b"), order("a"))
  end

  def test_an_existing_link_is_found_by_target_and_status
    create("abc")
    create("moved", status: 301)
    assert_equal [[:found, "abc"]], outcomes(order("x", reuse: true))
    assert_equal [[:found, "moved"]], outcomes(order("x", reuse: true, status: 301))
    assert_equal [[:created, "x"]], outcomes(order("x", reuse: true, status: 307))
    assert_equal [[:created, "y"]], outcomes(order("y", reuse: true, max_visits: 1))
    assert_equal [[:created, "z"]], outcomes(order("z"))
  end

  def test_a_link_with_a_new_limit_or_target_is_not_found_by_its_old_target
    create("abc")
    @store.update("abc") { |link| link.max_visits = 3 }
    assert_equal [[:created, "b"]], outcomes(order("b", reuse: true))
    @store.update("b") { |link| link.target = "https://example.org/" }
    assert_equal [[:found, "b"]], outcomes(order("x", reuse: true, target: "https://example.org/"))
    @store.delete("b")
    assert_equal [[:created, "c"]], outcomes(order("c", reuse: true, target: "https://example.org/"))
  end

  def test_a_chosen_code_is_found_when_it_redirects_in_the_same_way
    create("abc", max_visits: 3)
    assert_equal [[:found, "abc"]], outcomes(order("abc", reuse: true, custom: true, max_visits: 3))
    assert_equal [[:taken, "abc"]], outcomes(order("abc", reuse: true, custom: true, max_visits: 4))
  end

  def test_concurrent_requests_for_one_target_get_one_link
    orders = Array.new(8) { |index| order("c#{index}", reuse: true) }
    codes = orders.map { |order| Thread.new { @store.create([order]).first.code } }.map(&:value)
    assert_equal 1, codes.uniq.size
    assert_equal 1, @store.size
  end

  def test_a_request_that_is_repeated_creates_nothing
    request = Links::StoredRequest.new("key", "body")
    assert_equal [[:created, "a"]], outcomes(order("a", request: request))
    assert_equal [[:repeated, "a"]], outcomes(order("b", request: Links::StoredRequest.new("key", "body")))
    assert_equal [[:mismatch, nil]], outcomes(order("b", request: Links::StoredRequest.new("key", "other")))
    assert_equal [[:created, "b"]], outcomes(order("b", request: Links::StoredRequest.new("key 2", "body")))
  end

  def test_a_request_that_failed_may_be_repeated
    create("a")
    request = Links::StoredRequest.new("key", "body")
    assert_equal [[:taken, "a"]], outcomes(order("a", custom: true, request: request))
    @store.delete("a")
    assert_equal [[:created, "a"]], outcomes(order("a", custom: true, request: request))
  end

  def test_visits
    create("abc")
    3.times { @store.count_visit("abc") }
    assert_equal 3, @store.visits("abc")
    assert_equal [true, true, false], Array.new(3) { @store.take_visit("abc", 5) }
    assert_equal 5, @store.visits("abc")
    assert_equal true, @store.delete("abc")
    assert_equal false, @store.delete("abc")
    assert_equal 0, @store.visits("abc")
  end

  def test_an_imported_link_keeps_its_count
    outcomes(order("abc", visits: 4), order("def", visits: 7), order("ghi"))
    assert_equal [4, 7, 0], %w[abc def ghi].map { |code| @store.visits(code) }
  end

  def test_a_limit_is_exact_under_concurrent_visits
    create("abc", max_visits: 50)
    taken = Array.new(10) { Thread.new { Array.new(10) { @store.take_visit("abc", 50) } } }.flat_map(&:value)
    assert_equal({ true => 50, false => 50 }, taken.tally)
    assert_equal 50, @store.visits("abc")
  end

  def test_one_of_many_concurrent_requests_gets_a_code
    orders = Array.new(8) { |index| order("abc", target: "https://example.com/#{index}") }
    kinds = orders.map { |order| Thread.new { @store.create([order]).first.kind } }.map(&:value)
    assert_equal({ created: 1, taken: 7 }, kinds.tally)
    assert_equal %w[abc], pages(limit: 9)
    assert_equal %w[abc], @store.links_after(nil, 9).map(&:code)
  end

  def test_a_link_that_was_deleted_may_be_created_again
    create("abc", tags: %w[a])
    3.times { @store.count_visit("abc") }
    @store.delete("abc")
    link = create("abc", target: "https://example.org/", tags: %w[b])
    assert_equal [link, 0], [@store.find("abc"), @store.visits("abc")]
    assert_equal [[], %w[abc]], %w[a b].map { |tag| pages(limit: 9, tag: tag) }
  end

  def test_pages_go_from_the_newest_to_the_oldest
    codes = Array.new(7) { |index| "code#{index}" }
    codes.each { |code| create(code, tags: code < "code4" ? %w[few all] : %w[all]) }
    assert_equal codes.reverse, pages(limit: 3)
    assert_equal codes.reverse, pages(limit: 7)
    assert_equal codes.reverse, pages(limit: 3, tag: "all")
    assert_equal codes.first(4).reverse, pages(limit: 1, tag: "few")
    assert_equal [], pages(limit: 3, tag: "fe")
    assert_equal [], pages(limit: 3, tag: "none")
  end

  def test_changed_and_deleted_links_leave_the_tags_they_had
    create("abc", tags: %w[a b])
    create("def", tags: %w[b])
    @store.update("abc") { |link| link.tags = %w[b c] }
    @store.delete("def")
    assert_equal [[], %w[abc], %w[abc]], %w[a b c].map { |tag| pages(limit: 9, tag: tag) }
    assert_nil(@store.update("def") { raise "never called" })
  end

  def test_links_in_the_order_of_their_codes
    %w[c a b].each { |code| create(code) }
    assert_equal %w[a b], @store.links_after(nil, 2).map(&:code)
    assert_equal %w[c], @store.links_after("b", 2).map(&:code)
  end

  def test_a_change_that_fails_changes_nothing
    link = create("abc", tags: %w[a])
    assert_raises(Links::Invalid) do
      @store.update("abc") { |one| one.tags = ["b"] and raise Links::Invalid.new("x", "x") }
    end
    assert_equal link, @store.find("abc")
  end

  def test_numbers_are_unique_and_the_secret_stays
    assert_equal [10, 20], [@store.reserve_numbers(10), @store.reserve_numbers(10)]
    other = open_store
    assert_equal [30, @store.secret], [other.reserve_numbers(10), other.secret]
    assert_equal 32, @store.secret.bytesize
  end

  def test_a_generated_code_that_a_client_chose_is_skipped
    expected = Array.new(3) { |number| Links::Codes::Alphabet.new(@store.secret).code(number) }
    create(expected[0])
    create(expected[1])
    creation = Links::Creation.new(@store, Links::Codes::Generator.new(@store))
    orders = Array.new(2) { order(nil) }
    codes = creation.run(orders).map(&:code)
    assert_equal [:created, :created], creation.run([order(nil), order(nil)]).map(&:kind)
    assert_includes codes, expected[2]
    assert_equal 6, @store.size
  end

  private

  def order(code, reuse: false, custom: false, visits: 0, request: nil, **fields)
    link = Links::Link.new(code: code, target: TARGET, status: 302, tags: [],
                           created_at: @time += 1, updated_at: @time, **fields)
    Links::Order.new(link: link, reuse: reuse, custom: custom, visits: visits, request: request)
  end

  def outcomes(*orders) = @store.create(orders).map(&:to_a)

  def create(code, **fields)
    one = order(code, **fields)
    assert_equal [[:created, code]], outcomes(one)
    one.link
  end

  # @return [Array<String>] the codes of all pages
  def pages(limit:, tag: nil)
    codes = []
    place = nil
    loop do
      links, place = @store.page(tag: tag, after: place, limit: limit)
      assert_operator links.size, :<=, limit
      codes.concat(links.map(&:code))
      return codes unless place
    end
  end
end
