# frozen_string_literal: true

require_relative "../../../test/test_helper"
require_relative "../codes/generator"

# Codes: no two alike, none guessable, none reserved.
class CodesTest < Minitest::Test
  include Links::Codes

  # Numbers as a store reserves them for several workers.
  class Numbers
    attr_reader :secret

    def initialize(secret = "s" * 32)
      @secret = secret
      @end = 0
    end

    def reserve_numbers(count) = @end += count
  end

  def test_the_codes_of_a_secret_never_change
    alphabet = Alphabet.new("k" * 32)
    codes = { 0 => "XzNWk7", 1 => "R1XHJJ", 2 => "wfZimE", (58**6) - 1 => "9PjDPK", 58**6 => "PBmsys7",
              (58**6) + (58**7) - 1 => "68XaRCF" }
    assert_equal codes, codes.to_h { |number, _| [number, alphabet.code(number)] }
  end

  def test_codes_of_successive_numbers_have_nothing_in_common
    alphabet = Alphabet.new("k" * 32)
    codes = (0...5000).map { |number| alphabet.code(number) }
    assert_equal codes.size, codes.uniq.size
    6.times do |place|
      equal_neighbors = codes.each_cons(2).count { |one, next_one| one[place] == next_one[place] }
      assert_in_delta codes.size / Alphabet::BASE, equal_neighbors, 50, "place #{place}"
    end
  end

  def test_codes_grow_to_seven_characters_and_end
    alphabet = Alphabet.new("k" * 32)
    assert_match(/\A[1-9A-HJ-NP-Za-km-z]{6}\z/, alphabet.code((58**6) - 1))
    assert_match(/\A[1-9A-HJ-NP-Za-km-z]{7}\z/, alphabet.code(58**6))
    assert_match(/\A[1-9A-HJ-NP-Za-km-z]{7}\z/, alphabet.code((58**6) + (58**7) - 1))
    assert_raises(RangeError) { alphabet.code((58**6) + (58**7)) }
  end

  def test_workers_share_a_store_and_never_a_code
    numbers = Numbers.new
    workers = Array.new(3) { Generator.new(numbers) }
    codes = Array.new(6000) { |index| workers[index % 3].next }
    assert_equal codes.size, codes.uniq.size
  end

  def test_another_secret_makes_other_codes
    one, other = %w[a b].map { |secret| Generator.new(Numbers.new(secret * 32)) }
    assert_empty Array.new(1000) { one.next } & Array.new(1000) { other.next }
  end

  def test_chosen_codes
    assert_equal "Ab-_9", Custom.check("Ab-_9")
    assert_equal "x" * 64, Custom.check("x" * 64)
    ["ab", "x" * 65, "a b", "a/b", "a.b", "ab\n", "abü", "", 123, nil, ["abc"]].each do |code|
      assert_equal "invalid_code", assert_raises(Links::Invalid, code.inspect) { Custom.check(code) }.code
    end
  end

  def test_reserved_words_are_refused_in_any_case
    %w[links LINKS livez readyz Api well-known].each do |code|
      assert_equal "code_reserved", assert_raises(Links::Invalid) { Custom.check(code) }.code
    end
  end
end
