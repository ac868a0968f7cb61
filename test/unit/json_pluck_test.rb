# frozen_string_literal: true

require "test_helper"

# The values that are read out of an object are those that a parser finds there.
class JSONPluckTest < Minitest::Test
  PATHS = ["a", %w[b c], %w[b d e], %w[b]].freeze

  def pluck(json) = Elah::JSON.pluck(json, *PATHS)

  def parsed(json)
    value = Elah::JSON.parse(json)
    PATHS.map { |path| Array(path).reduce(value) { |object, name| object[name] if object.is_a?(Hash) } }
  end

  def test_values_are_found_where_their_names_lead
    assert_equal ["1", 2, [3], { "c" => 2, "d" => { "e" => [3] } }],
                 pluck('{"a":"1","b":{"c":2,"d":{"e":[3]}},"n":[{"a":"4"}]}')
    assert_equal ["1", nil, nil, "2"], pluck(%( { "a" : "1" ,\n"b" : "2" } ))
    assert_equal [nil] * 4, pluck("{}")
  end

  def test_a_path_may_be_named_twice
    assert_equal [1, 1], Elah::JSON.pluck('{"a":1}', "a", ["a"])
  end

  def test_names_and_texts_are_read_as_they_are_written
    assert_equal "é\n\u{1F600}", pluck('{"\u0061":"\u00e9\n\ud83d\ude00"}').first
    assert_equal "ü", pluck('{"a":"ü"}'.b).first
    assert_equal "ü", pluck('{"a":"ü"}'.encode("UTF-16LE")).first
    assert_equal Encoding::UTF_8, pluck('{"a":"1"}').first.encoding
  end

  def test_the_last_value_of_a_repeated_name_counts
    ['{"a":"1","a":"2"}', '{"a":"1","a":null}', '{"b":{"c":"1","d":{"e":"2"}},"b":{"c":"3"}}',
     '{"b":{"c":"1"},"b":"x"}', '{"b":"x","b":[]}', '{"b":{"d":{"e":"1"},"d":{}}}'].each do |json|
      assert_equal parsed(json), pluck(json), json
    end
  end

  def test_what_the_parser_accepts_is_accepted
    deep = "#{"[" * 99}#{"]" * 99}"
    inside = "#{"[" * 98}#{"]" * 98}"
    [%({"a":"1","n":#{deep}}), %({"a":#{deep}}), %({"b":{"n":#{inside}}}), '{"a":"1","n":1e300}', '"a"', "[1]",
     "7"].each do |json|
      assert_equal parsed(json), pluck(json), json
    end
  end

  def test_what_the_parser_refuses_is_refused
    deep = "#{"[" * 100}#{"]" * 100}"
    ["", "{", '{"a":"1"}x', '{"a":"\ud800"}', '{"a":01}', '{"a":"1",}', "{\"a\":\"\t\"}", "{\"a\":\"\xFF\"}",
     '{"n":1e999}', %({"n":#{deep}}), %({"a":#{deep}}), %({"b":{"n":#{deep[1..-2]}}})].each do |json|
      error = assert_raises(Elah::JSON::ParseError, json) { pluck(json) }
      assert_equal assert_raises(Elah::JSON::ParseError) { Elah::JSON.parse(json) }.message, error.message
    end
  end

  def test_random_objects_are_read_as_the_parser_reads_them
    random = Random.new(7)
    500.times do
      json = Elah::JSON.generate({ **object(random, 3) })
      assert_equal parsed(json), pluck(json), json
    end
  end

  def test_values_outlive_collections_of_garbage
    json = Elah::JSON.generate({ "a" => Array.new(50) { |n| "text #{n}" },
                                 "b" => { "c" => ["x"] * 20, "d" => { "e" => { "f" => "g" * 50 } } } })
    expected = parsed(json)
    GC.stress = true
    found = pluck(json)
    GC.stress = false
    assert_equal expected, found
  ensure
    GC.stress = false
  end

  def test_wrong_paths_are_refused
    assert_raises(ArgumentError) { Elah::JSON.pluck }
    assert_raises(ArgumentError) { Elah::JSON.pluck("{}") }
    assert_raises(ArgumentError) { Elah::JSON.pluck("{}", []) }
    assert_raises(ArgumentError) { Elah::JSON.pluck("{}", *("a".."zz").first(65)) }
    assert_raises(TypeError) { Elah::JSON.pluck("{}", 1) }
    assert_raises(TypeError) { Elah::JSON.pluck("{}", ["a", :b]) }
    assert_raises(TypeError) { Elah::JSON.pluck(1, "a") }
  end

  private

  def object(random, depth) = %w[a b c d e].select { random.rand < 0.7 }.to_h { |name| [name, value(random, depth)] }

  def value(random, depth)
    case random.rand(depth.zero? ? 4 : 7)
    when 0 then random.rand(1000)
    when 1 then nil
    when 2, 3 then ["", "ü\"\\", "x" * random.rand(9)].sample(random: random)
    when 4 then [value(random, depth - 1)]
    else object(random, depth - 1)
    end
  end
end
