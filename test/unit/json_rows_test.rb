# frozen_string_literal: true

require_relative "../test_helper"
require "elah"

# What is read of the rows of a request in bulk, and how they are answered.
class JSONRowsTest < Minitest::Test
  def read(text) = Elah::JSON::Rows.read(text, lists: %w[requests request], member: "path", echo: "id")

  def texts(rows) = Array.new(rows.size) { |row| rows.text(row) }

  def answer(text, members) = read(text).answer("responses", members)

  def test_one_member_is_read_and_one_is_given_back
    rows = read('{"requests":[{"path":"a/1","id":"x"},{"id":7,"path":"b"}]}')
    assert_equal 2, rows.size
    assert_equal %w[a/1 b], texts(rows)
    assert_equal '{"responses":[{"id":"x","n":1},{"id":7,"n":2}]}', rows.answer("responses", ['"n":1', '"n":2'])
  end

  def test_what_a_text_begins_with
    rows = read('{"requests":[{"path":"12/a"},{"path":"a"},{"path":"7"},{},{"path":"123456789012345678"},{"path":"1234567890123456789"}]}')
    assert_equal [12, nil, 7, nil, 123_456_789_012_345_678, nil, nil], Array.new(7) { |row| rows.number(row) }
    assert_equal ["a", nil, nil, nil], Array.new(4) { |row| rows.rest(row, "12/") }
    assert_equal ["a", "12/a"], [rows.rest(1, ""), rows.text(0)]
    assert_raises(RangeError) { rows.number(-1) }
    assert_raises(TypeError) { rows.rest(0, 12) }
  end

  def test_rows_that_begin_as_is_known_are_calls
    rows = read('{"requests":[{"path":"12/a?xü"},{"path":"12/a?y"},{"path":"12/b"},{"path":"7"},{"path":"12/a?long"},{"path":"12/a?"},{},{"path":"12/a?z"}]}')
    beginnings = Elah::JSON::Rows::Beginnings.new
    beginnings.add(12, "12/a?", "twelve")
    calls = Elah::Entity::CallColumns.of(:allocate, texts: 2)
    assert_equal [2, 3, 4, 5, 6, 8], [0, 3, 4, 5, 6, 7].map { |row| rows.add_calls(row, beginnings, calls, 3) }
    assert_equal [["twelve", :allocate, nil, "xü"], ["twelve", :allocate, nil, "y"], ["twelve", :allocate, nil, "z"]], Array.new(calls.size) { |n| calls[n] }
    beginnings.add(12, "12/b", "another")
    assert_equal 0, rows.add_calls(0, beginnings, calls, 3)
    assert_raises(ArgumentError) { beginnings.add(1, "1", "") }
    assert_raises(TypeError) { rows.add_calls(0, {}, calls, 3) }
  end

  def test_what_follows_is_text_too
    rows = read('{"requests":[{"path":"üö"}]}')
    assert_equal ["ö", Encoding::UTF_8], [rows.rest(0, "ü"), rows.rest(0, "ü").encoding]
    assert_nil rows.rest(0, "\xc3".b), "it would begin inside a character"
  end

  def test_any_value_is_given_back_as_it_was_written
    ids = ['"x"', "7", "-1.50e+3", "123456789012345678901234567890", "true", "false", '{"a":[1, {"b":null}]}', "[]", '"\\u00e9\\n\\ud83e\\udea8"', '"Größe"']
    text = %({"requests":[#{ids.map { |id| %({"id": #{id} ,"path":"p"}) }.join(',')}]})
    assert_equal %({"responses":[#{ids.map { |id| %({"id":#{id},"n":1}) }.join(',')}]}), answer(text, ['"n":1'] * ids.size)
  end

  def test_a_row_without_them_has_nothing
    text = '{"requests":[{},{"path":1,"id":null},{"path":null},7,null,"path",["path"],{"path":{"path":"x"}}]}'
    assert_equal [nil] * 8, texts(read(text))
    assert_equal %({"responses":[#{(['{"n":1}'] * 8).join(',')}]}), answer(text, ['"n":1'] * 8)
  end

  def test_what_is_no_text_is_asked_for
    rows = read('{"requests":[{"id":1},{"id":2},{}]}')
    asked = []
    text = rows.answer("responses", ['"a":1', :full, nil]) { |member, row| (asked << [member, row]) && "\"b\":#{row}" }
    assert_equal ['{"responses":[{"id":1,"a":1},{"id":2,"b":1},{"b":2}]}', [[:full, 1], [nil, 2]]], [text, asked]
    assert_raises(TypeError) { rows.answer("responses", ['"a":1', :full, ""]) }
    assert_raises(TypeError) { rows.answer("responses", ['"a":1', :full, ""]) { 7 } }
    assert_raises(IOError) { rows.answer("responses", ["", :full, ""]) { raise IOError, "x" } }
  end

  def test_a_row_with_nothing_to_say_is_an_object_too
    assert_equal '{"responses":[{"id":1},{}]}', answer('{"requests":[{"id":1},{}]}', ["", ""])
    assert_equal '{"responses":[]}', answer('{"requests":[]}', [])
  end

  def test_texts_are_utf_8_and_unescaped
    texts = texts(read('{"requests":[{"path":"a\\u00fc\\"\\\\\\/"},{"path":"ü"},{"path":""}]}'))
    assert_equal ["aü\"\\/", "ü", ""], texts
    assert_equal [Encoding::UTF_8] * 3, texts.map(&:encoding)
    assert(texts.all?(&:valid_encoding?))
    assert_equal Encoding::UTF_8, answer('{"requests":[{"id":"ü"}]}', [""]).encoding
  end

  def test_of_a_repeated_name_the_last_counts
    assert_equal ["b"], texts(read('{"requests":[{"path":"z"}],"requests":[{"path":"a","path":"b"}]}'))
  end

  def test_the_list_has_one_of_two_names_the_first_is_preferred
    assert_equal ["a"], texts(read('{"request":[{"path":"a"}],"other":[{"path":"c"}]}'))
    assert_equal ["b"], texts(read('{"request":[{"path":"a"}],"requests":[{"path":"b"}]}'))
    assert_equal ["b"], texts(read('{"requests":[{"path":"b"}],"request":[{"path":"a"}]}'))
    assert_equal ["a"], texts(read('{"requests":null,"request":[{"path":"a"}]}'))
  end

  def test_what_has_no_list_gives_nil
    ["{}", '{"requests":7}', '{"requests":{}}', "[]", "7", '"requests"', "null", "true", "1.5", "-3"].each { |text| assert_nil read(text), text }
  end

  def test_what_is_no_json_is_an_error_that_says_where
    ['{"requests":[{"path":"a"}', "", '{"requests":[{"path":"a"}]} x', '{"requests":[{"id":01}]}', '{"requests":[{"path":"\\ud800"}]}',
     '{"requests":[{"id":"\\ud800"}]}', '{"requests":[{"id":["\\ud800"]}]}', "{\"requests\":[{\"id\":\"\n\"}]}", '{"requests":[NaN]}'].each do |text|
      error = assert_raises(Elah::JSON::ParseError, text) { read(text) }
      assert_match(/\AThe text is not JSON: .+ line \d+ column \d+\.\z/, error.message)
    end
    assert_match(/UTF-8/, assert_raises(Elah::JSON::ParseError) { read("{\"requests\":[{\"path\":\"\xff\"}]}") }.message)
  end

  def test_a_text_in_another_encoding_is_converted
    assert_equal ["ü"], texts(read('{"requests":[{"path":"ü"}]}'.encode("UTF-16LE")))
    assert_equal ["ü"], texts(read('{"requests":[{"path":"ü"}]}'.b))
  end

  def test_deep_nesting_is_no_recursion
    deep = "#{'[' * 100_000}#{']' * 100_000}"
    assert_equal [nil], texts(read(%({"a":#{deep},"requests":[{"a":#{deep},"path":#{deep},"id":#{deep}}]})))
  end

  def test_members_have_to_be_texts_one_for_each_row
    rows = read('{"requests":[{},{}]}')
    assert_match(/2 rows, and members of 1/, assert_raises(ArgumentError) { rows.answer("a", ["x"]) }.message)
    assert_raises(TypeError) { rows.answer("a", ["x", nil]) }
    assert_raises(Elah::JSON::GenerateError) { rows.answer("a", ["x", "\xff"]) }
    assert_raises(TypeError) { read(7) }
  end

  def test_rows_survive_a_collection_at_every_allocation
    text = %({"requests":[#{(['{"path":"a long path that is no part of its String object","id":[1]}'] * 20).join(',')}]})
    GC.stress = true
    rows = read(text)
    texts = texts(rows)
    written = rows.answer("responses", texts.map { '"n":1' })
    GC.stress = false
    assert_equal ["a long path that is no part of its String object"], texts.uniq
    assert_equal 20, Elah::JSON.parse(written)["responses"].count({ "id" => [1], "n" => 1 })
  ensure
    GC.stress = false
  end

  # Rows as most are written are read in a way of their own. A byte more, less or other than that is read as the parser reads it, or not at all.
  def test_rows_with_a_wrong_byte_are_read_as_the_parser_reads_them
    random = Random.new(Integer(ENV.fetch("JSON_ROWS_SEED", Random.new_seed % 2**32)))
    bytes = [" ", "\n", "\f", "\t", '"', "\\", "{", "}", "[", "]", ",", ":", "n", "7", "\x00", "ü"]
    2000.times do
      rows = Array.new(random.rand(1..3)) { %w[path id].sample(random.rand(0..2), random: random).map { |name| %("#{name}" : "#{name}é 7") }.join(", ") }
      text = %(#{[' ', ''].sample(random: random)}{"request#{'s' if random.rand < 0.8}": [#{rows.map { |row| "{#{row}}" }.join(", ")}] }\n)
      case random.rand(4)
      when 0 then text[random.rand(text.size)] = bytes.sample(random: random)
      when 1 then text.insert(random.rand(text.size), bytes.sample(random: random))
      when 2 then text[random.rand(text.size)] = ""
      end
      assert_read_as_parsed(text, "seed #{random.seed}: #{text.inspect}")
    end
  end

  def assert_read_as_parsed(text, message)
    parsed = Elah::JSON.parse(text)
    lists = %w[requests request].map { |name| parsed[name] if parsed.is_a?(Hash) }
    list = lists.find { |candidate| candidate.is_a?(Array) }
    rows = read(text)
    return assert_nil(rows, message) unless list

    assert_equal list.map { |row| row["path"] if row.is_a?(Hash) && row["path"].is_a?(String) }, texts(rows), message
    ids = list.map { |row| row.is_a?(Hash) && !row["id"].nil? ? { "id" => row["id"] } : {} }
    assert_equal ids, Elah::JSON.parse(rows.answer("r", [""] * list.size))["r"], message
  rescue Elah::JSON::ParseError
    assert_raises(Elah::JSON::ParseError, message) { read(text) }
  end

  # Whatever the text, what is read is what {Elah::JSON.parse} finds there.
  def test_random_rows_are_read_as_the_parser_reads_them
    random = Random.new(Integer(ENV.fetch("JSON_ROWS_SEED", Random.new_seed % 2**32)))
    values = ["a", "ü\n", "", nil, true, 7, -0.5, [1, ["x"]], { "path" => "inner", "id" => 3 }]
    200.times do
      list = Array.new(random.rand(5)) do
        row = %w[path id other].shuffle(random: random).first(random.rand(4)).to_h { |name| [name, values.sample(random: random)] }
        random.rand(4).zero? ? values.sample(random: random) : row
      end
      rows = read(Elah::JSON.generate({ "other" => values.sample(random: random), "requests" => list }))
      path = list.map { |row| row["path"] if row.is_a?(Hash) && row["path"].is_a?(String) }
      ids = list.map { |row| row.is_a?(Hash) && !row["id"].nil? ? { "id" => row["id"] } : {} }
      assert_equal path, texts(rows)
      assert_equal ids, Elah::JSON.parse(rows.answer("r", [""] * list.size))["r"]
    end
  end
end
