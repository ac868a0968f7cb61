# frozen_string_literal: true

require_relative "uniformity_checks"

# Draws while the number of items differs from the cached one, and draws without repetition.
class ItemsDrawTest < Minitest::Test
  # A store whose size changes by a plan, one step with each read.
  class Changing
    # @return [Integer] the size at the last read
    attr_reader :seen

    def initialize(sizes)
      @sizes = sizes
    end

    def size(_scope) = next_size
    def fetch(position, _scope) = next_size.then { |size| [size, (position if position < size)] }

    def fetch_many(positions, _scope)
      next_size.then { |size| [size, positions.map { |position| position if position < size }] }
    end

    private

    def next_size = @seen = @sizes.rotate!.last
  end

  def test_single_draws_are_uniform_while_items_come_and_go
    counts = Array.new(100, 0)
    draw = draw([100, 130, 100, 170, 100, 55, 100])
    # Only draws from 100 items are compared: the others draw from other sets.
    taken = 0
    while taken < 100_000
      position = draw.one
      next unless @store.seen == 100

      counts[position] += 1
      taken += 1
    end
    statistic = Items::Uniformity::ChiSquare.statistic(counts, Array.new(100, 1000))
    assert_operator Items::Uniformity::ChiSquare.new(99).p_value(statistic), :>, 1e-6
  end

  # A store that read the count and the document one after the other: in between an item came, at the position that was
  # drawn, behind the last of the count. It was taken, and the tally, which has no cell behind the last, failed: the
  # client got 500.
  class Torn
    def initialize = @draws = [[1000, "item 0"], [1000, "new"], [1000, "item 7"], [999, "new"], [999, "item 3"]]
    def fetch(_position, _scope) = @draws.shift
  end

  # Draws the positions of a plan.
  Planned = Struct.new(:positions) do
    def rand(_ceiling) = positions.shift
  end

  def test_an_item_behind_the_count_is_drawn_again
    tally = Items::Uniformity::Tally.new
    draw = Items::Draw.new(Torn.new, tally, random: Planned.new([0, 1000, 7, 999, 3]))
    assert_equal ["item 7", "item 3"], [draw.one, draw.one]
    assert_equal 2, tally.report[:draws]
  end

  def test_nothing_to_draw_from
    assert_raises(Items::NoItems) { draw([0]).one }
    assert_raises(Items::NoItems) { draw([0]).many(3) }
    assert_raises(Items::NoItems) { draw([5, 0]).many(3) }
  end

  def test_items_that_change_during_every_draw_are_unavailable
    assert_raises(Elah::Unavailable) { draw([5, 6]).many(3) }
  end

  def test_distinct_choices_in_every_order_are_equally_likely
    draw = draw([4])
    counts = Hash.new(0)
    24_000.times { counts[draw.many(3)] += 1 }
    assert_equal [0, 1, 2, 3].permutation(3).to_a, counts.keys.sort
    statistic = Items::Uniformity::ChiSquare.statistic(counts.values, Array.new(24, 1000))
    assert_operator Items::Uniformity::ChiSquare.new(23).p_value(statistic), :>, 1e-6
    assert_equal [0, 1, 2, 3], draw.many(1000).sort
  end

  def test_a_seed_draws_the_same_again
    [true, false].each do |distinct|
      one, other = Array.new(2) { draw([1000]).many(20, seed: 5, distinct: distinct) }
      assert_equal one, other
      refute_equal one, draw([1000]).many(20, seed: 6, distinct: distinct)
      assert_equal one.first(3), draw([1000]).many(3, seed: 5, distinct: distinct)
    end
  end

  def test_a_seed_does_not_depend_on_attempts
    assert_equal draw([1000]).many(5, seed: 5), draw([999, 1000, 1000]).many(5, seed: 5)
  end

  def test_only_draws_that_can_be_judged_are_counted
    draw = draw([100])
    draw.one
    draw.many(3, distinct: false)
    draw.one("a")
    draw.many(3)
    draw.many(3, seed: 1, distinct: false)
    draw.many(3, tag: "a", distinct: false)
    assert_equal 4, @tally.report[:draws]
  end

  # As {Changing}, for a store that sends the response itself.
  class Responding < Changing
    def respond(request, headers, position, count)
      size = next_size
      request.respond(200, headers, position) if count == size && position < size
    end
  end

  Asked = Struct.new(:draw) do
    def respond(status, headers, position)
      self.draw = position
      [status, headers]
    end
  end

  def test_responses_are_uniform_while_items_come_and_go
    counts = Array.new(100, 0)
    draw = draw(Responding.new([100, 100, 100, 130, 100, 100, 100, 100, 55, 100, 100]))
    request = Asked.new
    taken = 0
    while taken < 100_000
      draw.respond(request, {})
      next unless @store.seen == 100

      counts[request.draw] += 1
      taken += 1
    end
    statistic = Items::Uniformity::ChiSquare.statistic(counts, Array.new(100, 1000))
    assert_operator Items::Uniformity::ChiSquare.new(99).p_value(statistic), :>, 1e-6
    assert_operator @tally.report[:draws], :>=, taken
  end

  def test_there_is_nothing_to_respond_with
    [Changing, Responding].each do |store|
      request = Asked.new
      assert_raises(Items::NoItems) { draw(store.new([0])).respond(request, {}) }
      assert_nil request.draw
      assert_equal [200, { "a" => "b" }], draw(store.new([1])).respond(request, { "a" => "b" })
      assert_equal 0, request.draw
    end
  end

  private

  def draw(store)
    @store = store.is_a?(Array) ? Changing.new(store) : store
    @tally = Items::Uniformity::Tally.new
    Items::Draw.new(@store, @tally, random: Random.new(1))
  end
end
