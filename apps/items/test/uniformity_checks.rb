# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../draw"
require_relative "../item"
require_relative "../uniformity/tally"

# Shows that every live row of a store is drawn with the same chance, by Pearson's chi-square test over rows: the rows
# that live make CELLS cells of equal size, and DRAWS draws fall into them. Besides, each row must be drawn, and none
# that was deleted.
#
# Power: with 300,000 draws and 20 cells, 19 degrees of freedom, the test fails a fair store once in 1,000,000 times. A
# bias by which half of the rows are 2 % too likely, and the others too unlikely, has the noncentrality 300,000 * 0.02²
# = 120; the test finds it with a probability above 0.999, which test_power_of_the_uniformity_checks computes. On every
# store a bias of 2 % is planted, and must be found. The seeds are fixed, so that one run is as good as another.
#
# A test of a store has it in @store, empty.
module UniformityChecks
  DRAWS = 300_000
  CELLS = 20
  SIGNIFICANCE = 1e-6
  BIAS = 0.02
  ROWS = 5_000
  BLOCK = 100_000
  BATCH = 5_000
  DISTRIBUTION = Items::Uniformity::ChiSquare.new(CELLS - 1)

  # Gives numbers below the middle 2 % too often, those above too seldom.
  class Biased
    def initialize(random)
      @random = random
    end

    def rand(limit)
      number = @random.rand(limit)
      number >= limit / 2 && @random.rand < BIAS ? @random.rand(limit / 2) : number
    end
  end

  def test_draws_are_uniform_whatever_was_deleted_and_a_planted_bias_is_found
    uuids = fill(rows)
    assert_uniform(uuids)
    random = Random.new(7)
    [0.9, 0.5, 0.01].each do |share|
      left = uuids.sample((rows * share).round, random: random)
      delete(uuids - left)
      uuids = left
      assert_uniform(uuids)
    end
    refute_uniform(uuids)
  end

  def test_draws_are_uniform_with_a_block_of_ids_missing
    uuids = fill(rows + block)
    delete(uuids.slice!(rows / 5, block))
    assert_uniform(uuids)
    assert_uniform(tagged(uuids), "odd")
  end

  private

  # Smaller numbers are for a store that is slow to fill.
  def rows = ROWS
  def block = BLOCK

  # @return [Array<String>] the uuids of rows that were made
  def fill(rows)
    numbers = (1..rows).to_a
    numbers.each_slice(BATCH) do |some|
      items = some.map do |number|
        Items::Item.new(uuid: row_uuid(number), name: "Row", description: "", created_at: "",
                        tags: number.odd? ? ["odd"] : [])
      end
      @store.insert(items)
    end
    numbers.map { |number| row_uuid(number) }
  end

  def row_uuid(number) = format("%08x-0000-4000-8000-000000000000", number)

  def tagged(uuids) = uuids.select { |uuid| uuid[0, 8].hex.odd? }

  def delete(uuids) = uuids.each_slice(BATCH) { |some| assert_equal some.size, @store.delete(some) }

  def assert_uniform(uuids, scope = Items::Slots::ALL)
    counts = count(uuids, scope, Random.new(11))
    assert_operator p_value(counts), :>, SIGNIFICANCE, "#{uuids.size} rows are not drawn alike"
    assert_empty counts.select { |_, drawn| drawn.zero? }, "rows that cannot be drawn"
  end

  def refute_uniform(uuids)
    assert_operator p_value(count(uuids, Items::Slots::ALL, Biased.new(Random.new(11)))), :<, SIGNIFICANCE,
                    "a bias of #{BIAS} was not found"
  end

  # How often each row is drawn; a row that is not there is an error. The cells of rows are blocks of their positions,
  # in which a bias would show.
  def count(uuids, scope, random)
    counts = @store.fetch_many((0...@store.size(scope)).to_a, scope).last.to_h { |document| [uuid_of(document), 0] }
    assert_equal uuids.sort, counts.keys.sort
    draw = Items::Draw.new(@store, Items::Uniformity::Tally.new, random: random)
    draws(draw, scope) { |document| counts[uuid_of(document)] += 1 }
    counts
  end

  def draws(draw, scope)
    (DRAWS / 1000).times { draw.many(1000, tag: scope, distinct: false).each { |document| yield document } }
  end

  def p_value(counts)
    observed = Array.new(CELLS, 0)
    rows = Array.new(CELLS, 0)
    counts.values.each_with_index do |drawn, index|
      cell = index * CELLS / counts.size
      observed[cell] += drawn
      rows[cell] += 1
    end
    expected = rows.map { |size| DRAWS.fdiv(counts.size) * size }
    DISTRIBUTION.p_value(Items::Uniformity::ChiSquare.statistic(observed, expected))
  end

  def uuid_of(document) = document.byteslice(document.index("uuid") + 7, 36)
end
