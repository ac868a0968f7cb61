# frozen_string_literal: true

require_relative "../test_helper"
require "elah"

# Numbers in an order that only a secret knows: one-to-one, and the same for ever, as stores keep secrets and have given codes.
class PermutationTest < Minitest::Test
  SIDE = 58**3

  def permutation(secret = "key", high: SIDE, low: SIDE) = Elah::Permutation.new(secret, high: high, low: low)

  def test_every_range_is_mapped_onto_itself
    [[1, 1], [1, 9], [9, 1], [7, 11], [41, 30]].each do |high, low|
      3.times do |key|
        mapped = permutation("key #{key}", high: high, low: low)
        assert_equal high * low, mapped.size
        assert_equal (0...mapped.size).to_a, (0...mapped.size).map { |number| mapped.call(number) }.sort
      end
    end
  end

  def test_it_depends_on_secret_high_and_low
    one = permutation
    [permutation("kez"), permutation(high: 58**2, low: 58**4), permutation(high: 58**4, low: 58**2)].each do |other|
      assert_equal one.size, other.size
      assert_equal 0, (0...500).count { |number| one.call(number) == other.call(number) }
    end
  end

  def test_what_it_gives_never_changes
    known = { 0 => 1_267_450_480, 1 => 14_117_085_724, 2 => 30_332_688_833, 57 => 5_518_956_252, 12_345 => 11_878_381_231, (58**6) - 1 => 11_152_993_537 }
    assert_equal known, known.to_h { |number, _| [number, permutation("k" * 32).call(number)] }
    known = { 0 => 1_440_096_781_441, 1 => 22_254_236_019, (58**7) - 1 => 528_560_186_662 }
    assert_equal known, known.to_h { |number, _| [number, permutation("k" * 32, low: 58**4).call(number)] }
    assert_equal [0, 5, 12, 3, 10, 2, 6, 7, 11, 9, 13, 14, 1, 8, 4], Array.new(15) { |number| permutation(high: 3, low: 5).call(number) }
  end

  def test_the_bytes_of_the_secret_count
    assert_equal [6, 7, 8, 0, 1, 2, 3, 4, 5], Array.new(9) { |number| permutation("\xFF\x00bin", high: 1, low: 9).call(number) }
    assert_equal 11_971_688_414, permutation("\x00\x01".b * 16).call(1000)
    assert_equal permutation("ü").call(1), permutation("ü".b).call(1)
    assert_equal 72, permutation("x" * 64, high: 7, low: 11).call(5)
  end

  def test_large_ranges
    assert_equal 6_599_486_406_783_992_887, permutation("x" * 200, high: 2**31, low: (2**32) - 1).call(2**62)
    assert_equal 3_278_401_325_208_810_613, permutation("x", high: 2**62, low: 1).call(5)
    assert_equal (2**63) - 1, permutation(high: 1, low: (2**63) - 1).size
  end

  def test_what_cannot_be_is_refused
    { "secret that is not empty" => ["", 3, 5], "at least 1" => ["a", 0, 5], "1 as high and as low" => ["a", 3, 0],
      "at most 9223372036854775807 numbers" => ["a", 2**32, 2**31], "high times low" => ["a", (2**64) - 1, (2**64) - 1] }.each do |message, (secret, high, low)|
      assert_match(/\AA permutation .*#{message}/, assert_raises(ArgumentError, message) { permutation(secret, high: high, low: low) }.message)
    end
    [[nil, 3, 5], [:secret, 3, 5], ["a", "3", 5], ["a", 3, nil]].each do |secret, high, low|
      assert_raises(TypeError) { permutation(secret, high: high, low: low) }
    end
    [[-1, 5], [3, -5], [3, 2**64], [-(2**64), 3]].each { |high, low| assert_raises(RangeError) { permutation(high: high, low: low) } }
  end

  def test_numbers_that_are_not_in_the_range_are_refused
    mapped = permutation(high: 3, low: 5)
    assert_equal "This permutation maps the numbers below 15, not 15.", assert_raises(RangeError) { mapped.call(15) }.message
    [-1, 2**63, 2**64, -(2**64)].each { |number| assert_raises(RangeError) { mapped.call(number) } }
    ["1", nil].each { |number| assert_raises(TypeError) { mapped.call(number) } }
  end

  def test_no_instance_is_made_without_a_secret
    assert_raises(TypeError) { Elah::Permutation.allocate }
    assert_raises(ArgumentError) { Elah::Permutation.new("a") }
    assert_raises(NoMethodError) { Elah::Permutation.open("a", 3, 5) }
  end
end
