# frozen_string_literal: true

# Elah::JSON.parse gives what JSON.parse gives for JSON, and refuses all that RFC 8259 does not allow.
require "test_helper"
require "json"
require "timeout"

class JSONParseTest < Minitest::Test
  VALID = <<'TEXTS'.lines(chomp: true).freeze
null
 true
false 
0
-1
123456789
9223372036854775807
9223372036854775808
-9223372036854775808
-9223372036854775809
18446744073709551615
18446744073709551616
123456789012345678901234567890
-0
1.0
-0.0
-0.5e-3
1E3
1e+2
0.1
3.141592653589793238462643
1.7976931348623157e308
2.2250738585072014e-308
5e-324
9007199254740993.0
100000000000000000000.0
1e22
""
"text"
"é日😀"
"\"\\\/\b\f\n\r\t"
"\u0000\u00e9\u65e5\ud83d\ude00"
" spaces  inside "
[]
[ ]
[1,[2,[3,[]]],"x",null]
{}
{ }
{"a":1}
{"a":{"b":[{"c":null}]},"d":"e"}
{"a":1,"a":2}
{"":0," ":1,"é":2}
[18446744073709551616,1.5,"\"9","1e5",{"12":-123456789012345678901}, -0, 99999999999999999999e0]
TEXTS

  INVALID = ["", " ", "nul", "nulll", "True", "NaN", "Infinity", "-Infinity", "-", "+1", "01", "-01", "1.", ".5",
             "1e", "1e+", "0x10", "1_000", "[", "]", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{", "{\"a\"", "{\"a\":",
             "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{a:1}", "{1:2}", "{\"a\" 1}", "\"", "\"a", "\"\\", "\"\\x\"",
             "\"\\u12\"", "\"\\u12g4\"", "\"\t\"", "\"\n\"", "'a'", "[1]x", "[1][2]", "1 2", "/* c */ 1", "// c\n1",
             "[1]//", "\u00a0[1]", "\uFEFF[1]", "[i", "[n", "[t", "[f", "{\"a\":i", "\0", "[1]\0", "undefined",
             "1e400", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800x\"", "\"\\ud800\\u0041\""].freeze

  def parse(text, **options) = Elah::JSON.parse(text, **options)

  def refused(text, **options)
    error = assert_raises(Elah::JSON::ParseError, text.inspect) { parse(text, **options) }
    assert_kind_of Elah::Error, error
    error.message
  end

  def assert_same(expected, actual, text = nil)
    assert_equal expected.class, actual.class, text
    expected.nil? ? assert_nil(actual, text) : assert_equal(expected, actual, text)
    assert_equal Marshal.dump(expected), Marshal.dump(actual), text
  end

  def test_valid_documents
    VALID.each do |text|
      assert_same JSON.parse(text, max_nesting: 0), parse(text), text
      assert_same JSON.parse(text, symbolize_names: true), parse(text, symbolize_names: true), text
      assert_same JSON.parse(text), parse(text.b), text
      assert_same JSON.parse(text), parse(text.encode("UTF-16LE")), text
    end
  end

  def test_invalid_documents
    INVALID.each { |text| refused(text) }
  end

  def test_errors_say_where
    assert_equal "The text is not JSON: expected value at line 2 column 3.", refused("[1,\n  x]")
    assert_equal "The text is not JSON: EOF while parsing a list at line 1 column 2.", refused("[1")
    assert_equal "The text is not JSON: trailing characters at line 1 column 5.", refused("[1] 2")
    assert_equal "The text is not JSON: EOF while parsing a value at line 1 column 0.", refused("")
  end

  def test_text_that_is_not_utf8
    ["\"\xff\"", "\"\xed\xa0\x80\"", "[\"a\xc3\"]", "\"\xff\"".b, "{\"\xff\":1}", "[1]\xff"].each do |text|
      assert_equal "The text is not valid UTF-8.", refused(text)
    end
    assert_match "converted", refused("\"\x81\"".dup.force_encoding("Windows-1252"))
  end

  def test_every_prefix_of_a_document_is_refused_at_once
    document = '{"a":[1,-2.5e3,"x\\u00e9\\n",true,false,null,{"b":{}}],"cé":"d","i":[99999999999999999999]}'
    Timeout.timeout(10) do
      (0...document.bytesize).each { |length| refused(document.byteslice(0, length)) }
    end
    assert_same JSON.parse(document), parse(document)
  end

  def test_nesting_is_bounded
    text = ->(levels) { "#{"[" * levels}#{"]" * levels}" }
    objects = ->(levels) { "#{"{\"a\":" * levels}1#{"}" * levels}" }
    [text, objects].each do |nested|
      assert_same JSON.parse(nested[100]), parse(nested[100])
      assert_match "nested more than 100 levels deep at line 1", refused(nested[101])
      assert_match "nested more than 5 levels deep", refused(nested[6], depth_max: 5)
      assert_same JSON.parse(nested[500], max_nesting: 500), parse(nested[500], depth_max: 500)
      refused(nested[100_000])
    end
    assert_equal 1, parse("1", depth_max: 0)
  end

  def test_the_names_of_an_object_are_bounded
    object = ->(names) { "{#{Array.new(names) { |index| "\"n#{index}\":1" }.join(",")}}" }
    repeated = ->(names) { "{#{Array.new(names) { "\"n\":1" }.join(",")}}" }
    [object, repeated].each do |text|
      [1, 7, 8, 9, 100].each do |names|
        assert_same JSON.parse(text[names]), parse(text[names], names_max: names)
        assert_match "an object has more than #{names - 1} names at line 1", refused(text[names], names_max: names - 1)
      end
    end
    assert_equal 3, parse('[{"a":1},{"a":{"b":2}},{}]', names_max: 1).size
    assert_equal 65_536, parse(object[65_536]).size
    assert_match "an object has more than 65536 names", refused(object[65_537])
  end

  def test_a_depth_bound_beyond_the_stack_raises_and_does_not_crash
    endless = "[" * 5_000_000
    [-> { parse(endless, depth_max: 10_000_000) },
     -> { Fiber.new { parse(endless, depth_max: 10_000_000) }.resume }].each do |call|
      assert_raises(SystemStackError, &call)
    end
    assert_equal [1], parse("[1]")
  end

  def test_names_are_interned_and_values_are_not
    first, second = parse('[{"name":"value"},{"name":"value"}]')
    assert_same_object first.keys[0], second.keys[0]
    assert_predicate first.keys[0], :frozen?
    refute_predicate first["name"], :frozen?
    refute_same first["name"], second["name"]
    assert_equal [Encoding::UTF_8] * 2, [first.keys[0].encoding, first["name"].encoding]
    assert_equal Encoding::UTF_8, parse('{"encoding":1}').keys[0].encoding
  end

  def assert_same_object(expected, actual) = assert(expected.equal?(actual))

  def test_symbols_of_names_can_be_collected
    name = "never seen before #{Process.clock_gettime(Process::CLOCK_MONOTONIC)}"
    before = Symbol.all_symbols.size
    200.times { |index| parse("{\"#{name} #{index}\":1}", symbolize_names: true) }
    GC.start
    assert_operator Symbol.all_symbols.size - before, :<, 100
  end

  def test_objects_and_arrays_of_every_size
    random = Random.new(2)
    [*0..40, 1_000].each do |size|
      names = Array.new(size) { "name #{random.rand([size, 1].max)}" }
      members = names.each_with_index.map { |name, index| "\"#{name}\":[#{(0..index % 40).to_a.join(",")}]" }
      text = "{#{members.join(",")}}"
      assert_same JSON.parse(text), parse(text), text
      assert_equal JSON.parse(text).keys, parse(text).keys
      assert_same JSON.parse(text, symbolize_names: true), parse(text, symbolize_names: true), text
    end
  end

  def test_wrong_arguments
    assert_raises(TypeError) { parse(nil) }
    assert_raises(TypeError) { parse(5) }
    assert_raises(ArgumentError) { Elah::JSON.parse }
    assert_raises(ArgumentError) { parse("1", symbolise: true) }
  end

  def random_text(random)
    characters = ["a", "\"", "\\", "\n", "é", "😀", "\u0000", "1", ",", "]"]
    Array.new(random.rand(12)) { characters.sample(random: random) }.join
  end

  def random_value(random, depth = 0)
    case random.rand(depth > 4 ? 6 : 8)
    when 0 then [nil, true, false].sample(random: random)
    when 1 then random.rand(-(10**random.rand(1..25))..10**random.rand(1..25))
    when 2 then (random.rand - 0.5) * 10**random.rand(-20..30)
    when 3 then [random.bytes(8).unpack1("D")].map { |number| number.finite? ? number : 1.5 }.first
    when 4, 5 then random_text(random)
    when 6 then Array.new(random.rand(5)) { random_value(random, depth + 1) }
    else Array.new(random.rand(5)) { [random_text(random), random_value(random, depth + 1)] }.to_h
    end
  end

  def test_random_documents
    random = Random.new(5)
    3_000.times do
      value = random_value(random)
      texts = [JSON.generate(value), JSON.pretty_generate(value), JSON.generate(value, ascii_only: true)]
      texts.each { |text| assert_same JSON.parse(text), parse(text), text }
    end
  end

  # What the json library reads beyond RFC 8259: comments, escapes of any character, a broken surrogate, numbers too
  # large.
  def test_damaged_documents_are_refused_or_read_as_json_reads_them
    random = Random.new(6)
    bytes = "[]{}:,\"\\0123456789.eE+-ntfu aé\n".chars
    read = 0
    3_000.times do
      text = JSON.generate([random_value(random)])
      text[random.rand(text.size)] = bytes.sample(random: random)
      value = parse(text)
      read += 1
      assert_same JSON.parse(text), value, text
    rescue Elah::JSON::ParseError
      next
    end
    assert_operator read, :>, 300
  end

  # What the parser has converted, or got by `to_str`, is known to nobody else, and the collector runs while it is read.
  def test_text_that_nobody_else_holds_under_gc_stress
    expected = Array.new(6) { |index| "text #{index} that is no part of its object" }
    text = JSON.generate(expected)
    converted = text.encode(Encoding::UTF_16LE)
    made = Object.new.tap { |object| object.define_singleton_method(:to_str) { "#{text} " } }
    GC.stress = true
    actual = [parse(converted), parse(made)]
    GC.stress = false
    assert_equal [expected] * 2, actual
  ensure
    GC.stress = false
  end

  def test_under_gc_stress
    random = Random.new(4)
    texts = Array.new(12) { JSON.generate(random_value(random)) } + VALID.last(3)
    expected = texts.map { |text| JSON.parse(text) }
    GC.stress = true
    actual = texts.map { |text| parse(text) }
    symbolized = parse('{"a":{"b":[1.5,"x"]}}', symbolize_names: true)
    refused_text = (parse('[1,{"a":x}]') rescue :refused)
    GC.stress = false
    assert_equal expected, actual
    assert_equal({ a: { b: [1.5, "x"] } }, symbolized)
    assert_equal :refused, refused_text
  ensure
    GC.stress = false
  end
end
