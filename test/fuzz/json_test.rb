# frozen_string_literal: true

# JSON that was changed at random: what Elah::JSON reads the json library reads as the same value, and what it writes is
# what that library writes.
require "test_helper"
require "support/fuzz"
require "json"

class JSONFuzzTest < Minitest::Test
  SAMPLES = [
    '{"a":[1,-2.5e3,"x\u00e9\n",true,false,null,{"b":{}}],"cé":"d","i":[99999999999999999999]}',
    '[[[[]],{}],"",0,-0,-0.0,1E+2,0.1]', '{"a":1,"a":2,"":{"a":[{"b":1},{"b":2}]}}',
    '"\"\\\/\b\f\n\r\t\u0000\ud83d\ude00"', "[1.7976931348623157e308,5e-324,9007199254740993.0,18446744073709551616]",
    "{#{(0..40).map { |number| %("name #{number}":[#{number}]) }.join(',')}}", "[#{(0..70).to_a.join(', ')}]"
  ].freeze
  WORDS = ["{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "\\udc00", "\\u0000", "/", "//", "/*", "null",
           "true", "NaN", "-", "+", "0", "00", ".", "e", "E9", "1e400", "1e-400", "-0", "9223372036854775808", "0.1",
           "\u{1F600}", "\xff", "\xc3", " ", "\n", "\u00a0", "\uFEFF", "\0", "[[[[[[[[[[", '{"a":{"a":',
           "\"a\":1,"].freeze
  MUTATOR = Fuzz::Mutator.new(SAMPLES, WORDS)

  # The library says which floats are out of range.
  def setup
    @verbose = $VERBOSE
    $VERBOSE = nil
  end

  def teardown
    $VERBOSE = @verbose
  end

  def test_documents
    Fuzz.run(self) do |random|
      text = MUTATOR.mutated(random)
      check(text.force_encoding(random.rand(8).zero? ? Encoding::BINARY : Encoding::UTF_8))
    end
  end

  private

  def check(text)
    value = Elah::JSON.parse(text, names_max: 60)
  rescue Elah::JSON::ParseError
    nil
  else
    utf8 = text.dup.force_encoding(Encoding::UTF_8)
    assert_equal dump(JSON.parse(utf8, max_nesting: 100)), dump(value), text.inspect
    assert_equal dump(symbols(value)), dump(Elah::JSON.parse(text, symbolize_names: true)), text.inspect
    written = Elah::JSON.generate(value)
    assert_equal JSON.generate(value), written, text.inspect
    assert_equal dump(value), dump(Elah::JSON.parse(written)), text.inspect
  end

  # Tells 1 from 1.0, 0.0 from -0.0, and one order of names from another. Whether equal names are one object does not
  # matter.
  def dump(value)
    case value
    when Hash then [Hash, *value.map { |pair| pair.map { |part| dump(part) } }]
    when Array then value.map { |inner| dump(inner) }
    when String then [value.encoding, value]
    else value.inspect
    end
  end

  def symbols(value)
    case value
    when Hash then value.to_h { |name, inner| [name.to_sym, symbols(inner)] }
    when Array then value.map { |inner| symbols(inner) }
    else value
    end
  end
end
