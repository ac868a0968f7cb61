# frozen_string_literal: true

# Elah::JSON.generate gives the bytes that JSON.generate gives, and refuses what JSON cannot hold.
require "test_helper"
require "json"
require "delegate"
require "set"
require "time"
require "bigdecimal"
require "open3"
require "ostruct"
require "rbconfig"

class JSONGenerateTest < Minitest::Test
  Point = Struct.new(:x, :y)

  # Has a to_json of its own, which nests through the json library.
  class Money
    def initialize(cents) = @cents = cents
    def to_json(*state) = { cents: @cents, parts: [@cents / 100] }.to_json(*state)
  end

  # Generates inside a generation.
  class Inner
    def initialize(value) = @value = value
    def to_json(*) = Elah::JSON.generate(@value)
  end

  class Name < String; end
  class Names < Array; end
  class Table < Hash; end

  class Label
    def initialize(text) = @text = text
    def to_s = @text
  end

  # Newer json libraries write 1e16 and 1e-5 as 1e+16 and 0.00001, which Ruby and Elah write as 1.0e+16 and 1.0e-05.
  def in_floats_of_ruby(json) = json.gsub(/-?\b\d+(?:\.\d+(?:e[+-]\d+)?|e[+-]\d+)\b/) { |float| Float(float).to_s }

  def assert_same_json(value)
    expected = in_floats_of_ruby(JSON.generate(value))
    actual = Elah::JSON.generate(value)
    assert_equal expected.b, actual.b
    assert_equal Encoding::UTF_8, actual.encoding
    assert_predicate actual, :valid_encoding?
    assert_equal expected.ascii_only?, actual.ascii_only?
  end

  def test_core_values
    [nil, true, false, 0, -1, 2**62, -2**62 - 1, 2**64, -(10**40), 1.0, -0.0, 0.1 + 0.2, 1e16, 1e-5, "", "text",
     :symbol, :"a b", [], {}, [[]], { "a" => {} }, [nil, [1, [2.5, ["x"]]]],
     { a: 1, "b" => [{ c: nil }] }].each { |value| assert_same_json(value) }
  end

  def test_every_ascii_character_and_its_neighbours
    (0..0x7f).each { |code| assert_same_json([code.chr, "#{"x" * 15}#{code.chr}y", "é#{code.chr}é"]) }
    ["é", "\u2028\u2029", "\u{1F600}", "\u{10FFFF}", "\uFEFF", "日本語" * 50].each do |text|
      assert_same_json(text => text)
    end
  end

  def test_keys_of_any_class
    time = Time.at(0).utc
    [{ nil => 1 }, { 1 => 2 }, { 1.5 => 2 }, { true => 1 }, { a: 1, "a" => 2 }, { [1] => 2 }, { time => 1 },
     { Label.new("k\n") => 1 }, { Name.new("n") => 1 },
     { "é" => "ü", "\"" => "\\" }].each { |value| assert_same_json(value) }
  end

  def test_other_objects_use_their_to_json_or_to_s
    [Time.at(0).utc, Date.new(2024, 2, 29), Point.new(1, "a"), Object, 1..3, Set[1, 2], 3r, 2i, BigDecimal("1.50"),
     Money.new(250), Label.new("a\"b"), Name.new("n\n"), Names[1, 2], Table[1, 2], OpenStruct.new(a: 1),
     [Money.new(1), { money: Money.new(2) }], Inner.new([1, "x", Inner.new({ a: Inner.new(nil) })]), Comparable,
     "text".dup.extend(Comparable)].each { |value| assert_same_json(value) }
  end

  # JSON accepts less of them from version to version.
  def test_strings_of_other_encodings
    labelled = { "é".b => "é", "abc".b => "abc", "é".dup.force_encoding("US-ASCII") => "é" }
    encoded = { "é" => "ISO-8859-1", "日本" => "Shift_JIS", "plain" => "UTF-16BE", "ü" => "UTF-16LE",
                "\u{1F600}" => "UTF-32LE" }
    encoded.to_h { |text, encoding| [text.encode(encoding), text] }.merge(labelled).each do |text, utf8|
      assert_equal JSON.generate([utf8, { utf8 => 1 }]), Elah::JSON.generate([text, { text => 1 }])
    end
  end

  def test_text_that_is_not_utf8_is_refused
    ["\xff", "a\xed\xa0\x80", "\xc3", "ok\xf5".b, "\xc0\x80", "\xd8".dup.force_encoding("UTF-16LE"),
     "\xff".dup.force_encoding("Shift_JIS")].each do |text|
      [text, [text], { text => 1 }, { a: { b: text } }].each do |value|
        assert_kind_of Elah::Error, assert_raises(Elah::JSON::GenerateError) { Elah::JSON.generate(value) }
      end
    end
    error = assert_raises(Elah::JSON::GenerateError) { Elah::JSON.generate("a\xff") }
    assert_match(/The string "a\\xFF" is not valid UTF-8/, error.message)
  end

  # The address of what a delegator stands for was sent.
  def test_a_delegator_to_an_object_without_a_form_is_refused
    plain = Object.new
    delegator = SimpleDelegator.new(plain)
    [plain, delegator, SimpleDelegator.new(delegator), DelegateClass(Object).new(plain)].each do |object|
      error = assert_raises(Elah::JSON::GenerateError, object.inspect) { Elah::JSON.generate([object]) }
      assert_match(/an object of the class Object: define Object#as_json.*\(at \$\[0\]\)/, error.message)
    end
    assert_equal '"#<A>"', Elah::JSON.generate(SimpleDelegator.new(Label.new("#<A>")))
    assert_equal "3", Elah::JSON.generate(SimpleDelegator.new(3))
  end

  def test_numbers_without_a_form_in_json_are_refused
    { Float::NAN => "NaN", Float::INFINITY => "infinite", -Float::INFINITY => "infinite" }.each do |number, word|
      assert_match word, assert_raises(Elah::JSON::GenerateError) { Elah::JSON.generate([{ a: number }]) }.message
    end
  end

  def nested(levels, innermost = [])
    (levels - 1).times.inject(innermost) { |value, index| index.even? ? [value] : { "a" => value } }
  end

  def test_nesting_is_bounded_as_in_the_json_library
    assert_same_json(nested(100))
    assert_raises(JSON::NestingError) { JSON.generate(nested(101)) }
    assert_match "more than 100 levels",
                 assert_raises(Elah::JSON::GenerateError) { Elah::JSON.generate(nested(101)) }.message
    loop_of_itself = []
    loop_of_itself << { a: loop_of_itself }
    assert_raises(Elah::JSON::GenerateError) { Elah::JSON.generate(loop_of_itself) }
    assert_raises(JSON::NestingError) { Elah::JSON.generate(nested(99, Money.new(1)).then { |value| [value] }) }
  end

  def test_endless_recursion_through_to_json_ends_with_an_exception
    endless = Class.new { def to_json(*) = Elah::JSON.generate([self]) }.new
    assert_raises(SystemStackError) { Elah::JSON.generate(endless) }
    assert_raises(SystemStackError) { Fiber.new { Elah::JSON.generate(endless) }.resume }
    assert_same_json({ "still" => "works" })
  end

  def test_what_a_callback_raises_or_throws_passes_through
    raising = Class.new { def to_json(*) = raise(IOError, "mine") }.new
    throwing = Class.new { def to_json(*) = throw(:out, 5) }.new
    assert_equal "mine", assert_raises(IOError) { Elah::JSON.generate([{ a: [raising] }]) }.message
    assert_equal(5, catch(:out) { Elah::JSON.generate({ a: [throwing] }) })
    key = Class.new { def to_s = raise(KeyError, "key") }.new
    assert_raises(KeyError) { Elah::JSON.generate({ key => 1 }) }
    assert_same_json([1, "after"])
  end

  def test_a_to_json_that_returns_no_string_is_refused
    wrong = Class.new { def to_json(*) = 5 }.new
    assert_match "#to_json returned no String but Integer",
                 assert_raises(Elah::JSON::GenerateError) { Elah::JSON.generate([wrong]) }.message
  end

  def test_a_callback_may_change_what_is_generated_and_may_switch_fibers
    list = []
    clearing = Class.new { define_method(:to_json) { |*| list.clear && "1" } }.new
    list.push(clearing, 2, 3)
    assert_equal "[1]", Elah::JSON.generate(list)

    yielding = Class.new { def to_json(*) = Fiber.yield }.new
    fibers = Array.new(5) { |index| Fiber.new { Elah::JSON.generate([index, yielding, "x" * index]) } }
    fibers.each(&:resume)
    assert_same_json({ between: true })
    texts = fibers.reverse.map { |fiber| fiber.resume("null") }
    assert_equal Array.new(5) { |index| JSON.generate([index, nil, "x" * index]) }.reverse, texts
  end

  def refusal(value) = assert_raises(Elah::JSON::GenerateError) { Elah::JSON.generate(value) }.message

  def test_a_refusal_names_the_path_to_the_value
    assert_equal "JSON has no form for NaN (at $.items[3].price).",
                 refusal({ items: [1, 2, 3, { "price" => Float::NAN }] })
    assert_equal 'The string "\\xFF" is not valid UTF-8 (at $["a key"]["7"].name).',
                 refusal({ "a key" => { 7 => { name: "\xff" } } })
    assert_equal 'The string "\\xFF" is not valid UTF-8 (at $[0]).', refusal([{ "\xff" => 1 }]),
                 "of a key: the object that it is in"
    assert_equal "JSON has no form for NaN.", refusal(Float::NAN)
    assert_match(/\(at \$\[0\]\[…\]\)/, refusal([{ Time.at(0) => Float::NAN }]))
    parent = { name: "a" }
    parent[:child] = { parent: parent }
    assert_match(/more than 100 levels deep, or contains itself \(at \$\.child\.parent\.child\.parent.*…\)/,
                 refusal(parent))
    assert_same_json([1, "what was refused before leaves nothing behind"])
  end

  def test_an_object_without_a_form_is_refused_by_its_class
    plain = Class.new
    assert_equal "JSON has no form for an object of the class Object: define Object#as_json, " \
                 "or return a Hash of what to show (at $.order).", refusal({ order: Object.new })
    assert_match "has no form for an object of the class #<Class:", refusal([plain.new])
    script = 'require "elah"; ' \
             'begin; Elah::JSON.generate([Object.new]); rescue Elah::JSON::GenerateError => e; puts e.message; end'
    output, status = Open3.capture2e(RbConfig.ruby, "--disable-gems", "-Ilib", "-e", script,
                                     chdir: File.expand_path("../..", __dir__))
    assert_predicate status, :success?, output
    assert_match(/of the class Object.*\(at \$\[0\]\)/, output, "without the json library too")
  end

  # Has an `as_json` of its own, without ActiveSupport.
  class Price
    def initialize(cents) = @cents = cents
    def as_json(options = nil) = { cents: @cents, at: Time.at(0).utc, options: options }
  end

  # Its `as_json` takes nothing.
  class Tag
    def as_json = "tag"
  end

  def test_an_objects_own_as_json_is_used
    assert_equal '{"p":[{"cents":5,"at":"1970-01-01 00:00:00 UTC","options":{}}]}',
                 Elah::JSON.generate({ p: [Price.new(5)] })
    assert_equal '["tag"]', Elah::JSON.generate([Tag.new])
    both = Class.new(Price) { def to_json(*) = '"own text"' }
    assert_equal '["own text"]', Elah::JSON.generate([both.new(1)]), "as before, where ActiveSupport is not loaded"
    assert_match "NaN (at $.cents)", refusal(Price.new(Float::NAN))
  end

  def test_what_an_as_json_does_is_held_to_the_same_bounds
    raising = Class.new { def as_json(*) = raise(IOError, "mine") }.new
    assert_equal "mine", assert_raises(IOError) { Elah::JSON.generate([{ a: raising }]) }.message
    endless = Class.new { def as_json(*) = self.class.new }.new
    assert_raises(SystemStackError) { Elah::JSON.generate(endless) }
    cyclic = Class.new { def as_json(*) = { me: self } }.new
    assert_match "more than 100 levels", refusal(cyclic)
    itself = Class.new { def as_json(*) = self }.new
    assert_match "has no form", refusal([itself])
    GC.stress = true
    text = Elah::JSON.generate([Price.new(5), Tag.new, { p: [Tag.new] }])
    GC.stress = false
    assert_equal '[{"cents":5,"at":"1970-01-01 00:00:00 UTC","options":{}},"tag",{"p":["tag"]}]', text
  ensure
    GC.stress = false
  end

  def random_text(random)
    alphabet = ["a", "B", "0", " ", "\"", "\\", "/", "\n", "\t", "\u0000", "\u001f", "\u007f", "é", "日",
                "\u{1F600}", "\u2028"]
    Array.new(random.rand(40)) { alphabet[random.rand(alphabet.size)] }.join
  end

  def random_value(random, depth = 0)
    case random.rand(depth > 4 ? 8 : 10)
    when 0 then [nil, true, false].sample(random: random)
    when 1 then random.rand(-1000..1000)
    when 2 then random.rand(-(2**70)..2**70)
    when 3 then [random.bytes(8).unpack1("D")].map { |number| number.finite? ? number : 0.5 }.first
    when 4 then (random.rand - 0.5) * 10**random.rand(-8..20)
    when 5, 6 then random_text(random)
    when 7 then random_text(random).to_sym
    when 8 then Array.new(random.rand(5)) { random_value(random, depth + 1) }
    else Array.new(random.rand(5)) { [random_key(random), random_value(random, depth + 1)] }.to_h
    end
  end

  def random_key(random)
    [random_text(random), random_text(random).to_sym, random.rand(100), nil, random.rand].sample(random: random)
  end

  def test_random_values
    random = Random.new(7)
    3_000.times { assert_same_json(random_value(random)) }
  end

  def test_random_floats
    random = Random.new(8)
    numbers = Array.new(50_000) { random.bytes(8).unpack1("D") }.select(&:finite?)
    numbers += Array.new(20_000) { (random.rand * 10**random.rand(-7..18)).round(random.rand(6)) }
    numbers += (-320..308).flat_map do |exponent|
      [Float("1e#{exponent}"), Float("9.999999999999999e#{exponent - 1}"), Float("1e#{exponent}").next_float]
    end
    different = numbers.reject { |number| Elah::JSON.generate(number) == number.to_s }
    assert_empty different.first(10)
  end

  def test_under_gc_stress
    random = Random.new(9)
    values = Array.new(15) { random_value(random) } +
             [Money.new(5), Inner.new([Name.new("n"), 2**80]), Point.new(1, [2]), "é".encode("UTF-16LE")]
    expected = values.map { |value| JSON.generate(value) }
    GC.stress = true
    actual = values.map { |value| Elah::JSON.generate(value) }
    GC.stress = false
    assert_equal expected, actual
  ensure
    GC.stress = false
  end
end
