# frozen_string_literal: true

require "test_helper"

# The texts that are read out of an object are those that a parser would find there.
class JSONMembersTest < Minitest::Test
  MEMBERS = Elah::JSON::Members.new("a", %w[b c], %w[b d e], %w[b])

  def parsed(json)
    value = Elah::JSON.parse(json)
    [%w[a], %w[b c], %w[b d e], %w[b]].map do |path|
      found = path.reduce(value) { |object, name| object[name] if object.is_a?(Hash) }
      found if found.is_a?(String)
    end
  end

  def test_texts_are_found_where_their_names_lead
    assert_equal ["1", "2", "3", nil], MEMBERS.texts('{"a":"1","b":{"c":"2","d":{"e":"3"}},"n":[{"a":"4"}]}')
    assert_equal ["1", nil, nil, "2"], MEMBERS.texts(%( { "a" : "1" ,\n"b" : "2" } ))
    assert_equal [nil] * 4, MEMBERS.texts('{"a":1,"b":{"c":null,"d":"e"}}')
    assert_equal [nil] * 4, MEMBERS.texts("{}")
  end

  def test_names_and_texts_are_read_as_they_are_written
    assert_equal ["é\n\u{1F600}", nil, nil, nil], MEMBERS.texts('{"\u0061":"\u00e9\n\ud83d\ude00"}')
    assert_equal ["ü", nil, nil, nil], MEMBERS.texts('{"a":"ü"}'.b)
    assert_equal Encoding::UTF_8, MEMBERS.texts('{"a":"1"}').first.encoding
  end

  def test_of_a_name_that_comes_twice_the_last_value_stays
    ['{"a":"1","a":"2"}', '{"a":"1","a":2}', '{"b":{"c":"1","d":{"e":"2"}},"b":{"c":"3"}}', '{"b":{"c":"1"},"b":"x"}', '{"b":"x","b":[]}',
     '{"b":{"d":{"e":"1"},"d":{}}}'].each { |json| assert_equal parsed(json), MEMBERS.texts(json), json }
  end

  # Everything that a walk over the text does not judge is left to the parser.
  def test_what_the_parser_takes_is_taken
    deep = "#{"[" * 99}#{"]" * 99}"
    [%({"a":"1","n":#{deep}}), '{"a":"1","n":1e300}', '"a"', "[1]", "7"].each { |json| assert_equal parsed(json), MEMBERS.texts(json), json }
  end

  def test_what_the_parser_refuses_is_refused
    ["", "{", '{"a":"1"}x', '{"a":"\ud800"}', '{"a":01}', '{"a":"1",}', "{\"a\":\"\t\"}", "{\"a\":\"\xFF\"}", '{"n":1e999}'].each do |json|
      assert_raises(Elah::JSON::ParseError, json) { MEMBERS.texts(json) }
    end
  end

  def test_random_objects_are_read_as_the_parser_reads_them
    random = Random.new(7)
    500.times do
      json = Elah::JSON.generate({ **object(random, 3) })
      assert_equal parsed(json), MEMBERS.texts(json), json
    end
  end

  def test_wrong_paths_are_refused
    assert_raises(ArgumentError) { Elah::JSON::Members.new([]) }
    assert_raises(ArgumentError) { Elah::JSON::Members.new(*("a".."zz").first(65)) }
    assert_raises(TypeError) { Elah::JSON::Members.new(1) }
    assert_raises(TypeError) { MEMBERS.texts(1) }
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
