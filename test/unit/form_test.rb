# frozen_string_literal: true

# Elah::Form.parse gives what Rack::Utils.parse_nested_query gives, and refuses what cannot be decoded.
require "test_helper"
require "rack"
require "uri"
require "rack/query_parser"

class FormTest < Minitest::Test
  RACK = Rack::QueryParser.make_default(*(1_000_000 if Rack.release < "3"), 32, params_limit: 4096)

  def parse(text, **options) = Elah::Form.parse(text, params_max: 4096, depth_max: 32, **options)

  def refused(text, **options)
    error = assert_raises(Elah::Form::ParseError, text.inspect) { parse(text, **options) }
    assert_kind_of Elah::Error, error
    error.message
  end

  # What Rack says: parameters, or the error that Elah must have too. Rack lets values that are not UTF-8 pass.
  def rack(text, separators = "&;")
    params = RACK.parse_nested_query(text.b, separators)
    URI.decode_www_form_component(text).valid_encoding? ? params : :refused
  rescue Rack::QueryParser::ParameterTypeError => error
    error.message
  rescue Rack::QueryParser::InvalidParameterError, Rack::QueryParser::QueryLimitError
    :refused
  end

  # Elah nests as Rack 2.2. Rack 3 differs for brackets that do not pair, that begin a name, and for lists of lists.
  def compared?(text)
    names = text.split(/[&;] */).map { |pair| pair.split("=").first.to_s.gsub(/%5B/i, "[").gsub(/%5D/i, "]") }
    Rack.release < "3" || names.all?(EVEN)
  end
  EVEN = /\A(?!.*\[\]\s*\[\])([^\[\]]+(\[[^\[\]]*\])*)?\z/m.freeze

  def assert_as_rack(text)
    case (expected = rack(text))
    when :refused then refused(text)
    when String
      reason = expected.sub("Rack::QueryParser::Params", "Hash")
      assert_equal "The parameters cannot be read: #{reason}.", refused(text)
    else assert_equal expected, parse(text), text.inspect
    end
    expected
  end

  TABLE = [
    "", "a", "a=", "=a", "=", "&", "&&", ";", "a=1", "a=1&b=2", "a=1;b=2", "a=1&a=2", "a=b=c", "a==", "a=1& b=2",
    " a=1", "a=1;  b=2", "a&a=1",
    "a+b=c+d", "a%20b=%2B", "%C3%A9=%e2%82%ac", "é=ü", "a%5Bb%5D=1", "a%26b=c%3Dd", "a=%", "a=%2", "a=%zz", "%=1",
    "a%g0", "a=%ff", "%ff=1", "a=%00",
    "a[]", "a[]=", "a[]=1", "a[]=1&a[]=2", "a[]&a[]=1", "a[b]=1", "a[b]=1&a[c]=2", "a[b]=1&a[b]=2", "a[b][c]=1",
    "a[b][]=1&a[b][]=2", "a[][b]=1", "a[][b]=1&a[][b]=2", "a[][b]=1&a[][c]=2", "a[][b]=1&a[][c]=2&a[][b]=3",
    "a[][b][c]=1&a[][b][d]=2", "a[][b][]=1&a[][b][]=2", "a[][b][]=1&a[][c]=2", "a[][]=1", "a[][][]=1", "a[][][b]=1",
    "a[][b][][c]=1&a[][b][][c]=2", "x[y][][z]=1&x[y][][w]=a&x[y][][z]=2", "a[]b=1", "a[]b[c]=1&a[]b[d]=2",
    "a[", "a[=1", "a]=1", "a]]=1", "[a]=1", "[a][b]=1", "[]=1", "[[]=1", "[]", "]=1", "[=1", "a[[]=1", "a[[b]=1",
    "a[[b]]=1", "a[b=1", "a[b]c=1", "a[b]c[d]=1", "a[b[c]=1", "a[b][=1", "a[][=1", "a[]]=1", "a[]][b]=1", "a[b]]=1",
    "a.b=1", "a[0]=x&a[1]=y", "a[ ]=1", "a[%00]=1",
    "a=1&a[]=2", "a=1&a[b]=2", "a[]=1&a=2", "a[]=1&a[b]=2", "a[b]=1&a[]=2", "a[b]=1&a=2", "a[b]=1&a[b][c]=2",
    "a[b][]=1&a[b][c]=2", "a[][b]=1&a[][b][c]=2",
    "a=&a[]=1", "a&a[b]=1", "a[b]&a[b][c]=1", "a[][b]&a[][b]=1", "a[%0A]=1", "a[]%0A[][b]=1", "a[x]%0A[]y=1",
    "a[]%0A[b]=1", "a%0Ab=1", "a[b]%0A=1",
    "utf8=%E2%9C%93&user[name]=B&user[tags][]=x&user[tags][]=y&commit=Go", "filter[a][b][c][d][e]=1",
    "a#{"[b]" * 31}=1", "a#{"[b]" * 32}=1", "a#{"[]" * 40}=1", "&" * 4094, "&" * 4095, "&" * 4096,
    "#{"a[]=1&" * 1000}a[]=2"
  ].freeze

  def test_the_table_as_in_rack
    TABLE.select { |text| compared?(text) }.each { |text| assert_as_rack(text) }
  end

  def test_random_queries_as_in_rack
    random = Random.new(3)
    pieces = ["a", "b", "c", "[", "]", "[]", "[a]", "[b]", "[][a]", "[][b]", "=", "=1", "&", "&", ";", "+",
              "%20", "%5B", "%5D", "%0A", "é", " ", "%"]
    outcomes = Hash.new(0)
    20_000.times do
      text = Array.new(random.rand(1..24)) { pieces.sample(random: random) }.join
      text.delete!("%") if random.rand(20).positive? && text.match?(/%(?!\h\h)/)
      outcomes[assert_as_rack(text).class] += 1 if compared?(text)
    end
    least = Rack.release < "3" ? 100 : 1
    assert_operator outcomes.values_at(Hash, String, Symbol).min, :>, least, outcomes.to_s
  end

  def test_forms_separate_with_the_ampersand_alone
    ["a=1;b=2&c=3", "a=1; b=2", ";", "a;b[c]=1&d"].each do |text|
      assert_equal rack(text, "&"), parse(text, semicolons: false)
    end
  end

  def test_values_are_utf8
    params = parse("caf%C3%A9=%E2%82%AC&a=b".b)
    assert_equal({ "café" => "€", "a" => "b" }, params)
    assert_equal [Encoding::UTF_8] * 4, params.to_a.flatten.map(&:encoding)
    refute_predicate params["a"], :frozen?
  end

  def test_what_cannot_be_decoded
    assert_equal "The parameters cannot be read: the parameter text \"b%2\" cannot be decoded: " \
                 "the percent sign at byte 1 is not followed by two hexadecimal digits.", refused("a=1&b%2")
    ["a=%ff", "%ff=a", "a=\xff", "a=%ED%A0%80", "a[%c3]=1"].each do |text|
      assert_match "not valid UTF-8", refused(text)
    end
  end

  def test_the_bounds_are_the_callers
    assert_equal({ "a" => "1", "b" => "2" }, Elah::Form.parse("a=1&b=2", params_max: 2, depth_max: 1))
    [["a=1&b=2&c=3", "there are 3 parameters, and at most 2 are accepted"],
     ["a[b]=1", "nested more than 1 levels deep"]].each do |text, sentence|
      error = assert_raises(Elah::Form::ParseError) { Elah::Form.parse(text, params_max: 2, depth_max: 1) }
      assert_match sentence, error.message
    end
    assert_equal({ "a" => "1" }, Elah::Form.parse("a=1"))
    assert_raises(Elah::Form::ParseError) { Elah::Form.parse("&" * 4096) }
    assert_raises(Elah::Form::ParseError) { Elah::Form.parse("a#{"[b]" * 32}") }
    assert_raises(ArgumentError) { Elah::Form.parse("a=1", params_max: 2, depth_max: 1, separator: ";") }
    assert_raises(TypeError) { Elah::Form.parse(nil, params_max: 2, depth_max: 1) }
  end

  def test_many_names_take_time_in_proportion
    seconds = lambda do |count|
      text = Array.new(count) { |index| "name#{index}=#{index}" }.join("&")
      started = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
      assert_equal count, Elah::Form.parse(text, params_max: count, depth_max: 4).size
      Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - started
    end
    seconds.call(1_000)
    assert_operator seconds.call(64_000), :<, 64 * 8 * [seconds.call(1_000), 0.0005].max
  end

  def test_under_gc_stress
    texts = TABLE.first(75).select { |text| compared?(text) } - ["&" * 4094]
    expected = texts.to_h { |text| [text, rack(text)] }.select { |_, params| params.is_a?(Hash) }
    GC.stress = true
    actual = expected.keys.to_h { |text| [text, parse(text)] }
    GC.stress = false
    assert_equal expected, actual
  ensure
    GC.stress = false
  end
end
