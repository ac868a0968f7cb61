# frozen_string_literal: true

require_relative "../test_helper"
require "elah"

# Numbers in an order that only a secret knows: one-to-one, and the same for ever, as stores keep secrets and have given
# codes.
class PermutationTest < Minitest::Test
  SIX = 58**6

  def permutation(secret = "key", size: SIX) = Elah::Permutation.new(secret, size: size)

  def test_every_range_is_mapped_onto_itself
    [1000, 20_000].each do |size|
      mapped = permutation("key #{size}", size: size)
      assert_equal size, mapped.size
      assert_equal (0...size).to_a, (0...size).map { |number| mapped.call(number) }.sort
    end
  end

  def test_numbers_of_a_large_range_stay_unique
    codes = permutation
    assert_equal 10_000, Array.new(10_000) { |number| codes.call(number) }.uniq.size
  end

  def test_it_depends_on_secret_and_size
    one = permutation
    [permutation("kez"), permutation(size: SIX - 1)].each do |other|
      assert_equal 0, (0...500).count { |number| one.call(number) == other.call(number) }
    end
  end

  def test_what_it_gives_never_changes
    known = { 0 => 20_339_940_720, 1 => 15_758_470_619, 12_345 => 31_966_773_452, SIX - 1 => 5_508_053_422 }
    assert_equal known, known.to_h { |number, _| [number, permutation("k" * 32).call(number)] }
  end

  def test_the_bytes_of_the_secret_count
    assert_equal permutation("ü").call(1), permutation("ü".b).call(1)
    refute_equal permutation("\x00\x01".b).call(1), permutation("\x00".b).call(1)
  end

  def test_large_ranges
    mapped = permutation(size: (2**63) - 1)
    assert_equal (2**63) - 1, mapped.size
    assert_equal 1000, Array.new(1000) { |number| mapped.call((2**63) - 2 - number) }.uniq.size
  end

  def test_what_cannot_be_is_refused
    { "needs a secret that is not empty" => ["", 5000], "maps at least 1000 numbers" => ["a", 999],
      "maps at most 9223372036854775807 numbers" => ["a", 2**63] }.each do |message, (secret, size)|
      assert_equal "A permutation #{message}.", assert_raises(ArgumentError) { permutation(secret, size: size) }.message
    end
    [[nil, 5000], [:secret, 5000], ["a", "5000"], ["a", nil], ["a", 5000.0]].each do |secret, size|
      assert_raises(TypeError) { permutation(secret, size: size) }
    end
    [-1, 2**64, -(2**64)].each { |size| assert_raises(RangeError) { permutation(size: size) } }
  end

  def test_numbers_that_are_not_in_the_range_are_refused
    mapped = permutation(size: 1500)
    assert_equal "This permutation maps the numbers below 1500, not 1500.",
                 assert_raises(RangeError) { mapped.call(1500) }.message
    [-1, 2**63, 2**64, -(2**64)].each { |number| assert_raises(RangeError) { mapped.call(number) } }
    ["1", nil, 1.5, 1r].each { |number| assert_raises(TypeError) { mapped.call(number) } }
  end

  def test_no_instance_is_made_without_a_secret
    assert_raises(TypeError) { Elah::Permutation.allocate }
    assert_raises(ArgumentError) { Elah::Permutation.new("a") }
    assert_raises(NoMethodError) { Elah::Permutation.open("a", 5000) }
  end
end
