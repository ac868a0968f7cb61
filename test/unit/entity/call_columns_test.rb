# frozen_string_literal: true

require "test_helper"
require "support/entity_case"
require "elah/peer_links"

# Many calls as columns beside the same calls as Arrays.
class EntityCallColumnsTest < EntityCase
  Columns = Elah::Entity::CallColumns

  # Says what it was called with.
  class Scribe < Elah::Entity
    def say(*arguments) = "#{key}: #{arguments.inspect}"

    def refuse(text) = text == "no" ? raise(EntityCase::Account::Poor, "no") : text

    def nested(text, more) = [text, more, Elah::Entity::CallColumns.of(:x, texts: 0).size]

    private

    def hide(text) = text
  end

  def scribes = @scribes ||= Scribe.in(@store)

  def columns(name, calls, texts: 1, arguments: [])
    Columns.of(name, texts: texts, arguments: arguments).tap { |columns| calls.each { |call| columns.add(*call) } }
  end

  def there_and_back(calls) = Columns.from_message(Elah::PeerLinks::Wire.load(Elah::PeerLinks::Wire.dump(calls.to_message)))

  def test_calls_are_those_of_arrays
    calls = columns(:say, [["1", nil, "ü"], ["2", "", "b\0"], ["1", "a", nil]], texts: 2, arguments: [7, { "x" => [nil] }])
    arrays = [["1", :say, nil, "ü", 7, { "x" => [nil] }], ["2", :say, "", "b\0", 7, { "x" => [nil] }], ["1", :say, "a", nil, 7, { "x" => [nil] }]]
    assert_equal arrays, Array.new(3) { |index| calls[index] }
    assert_equal [3, "2", nil, nil], [calls.size, calls.key(1), calls.key(3), calls[3]]
    Elah.run { 2.times { assert_equal scribes.call_many(arrays), scribes.call_many(calls) } }
    Elah.run { assert_equal scribes.call_many(arrays), scribes.call_many(calls, deadline: 5) }
    assert_equal [arrays[2], arrays[0]], calls.values_at(2, 0).then { |some| [some[0], some[1]] }
  end

  def test_many_calls_of_idle_entities_one_of_which_fails
    calls = columns(:refuse, Array.new(200) { |n| [(n % 7).to_s, n == 99 ? "no" : "text #{n}"] })
    Elah.run do
      2.times do
        answers = scribes.call_many(calls)
        assert_instance_of Account::Poor, answers.delete_at(99)
        assert_equal (Array.new(200) { |n| "text #{n}" }.tap { |texts| texts.delete_at(99) }), answers
      end
    end
  end

  def test_nothing_of_them_is_lost_when_memory_is_collected
    Elah.run do
      keys = Array.new(3) { |n| "key#{n}" }
      scribes.call_many(keys.map { |key| [key, :say] })
      calls = columns(:say, keys.map { |key| ["#{key}", "#{key}!"] }, arguments: ["sh" + "ared"])
      GC.stress = true
      answers = scribes.call_many(there_and_back(calls))
    ensure
      GC.stress = false
      assert_equal Array.new(3) { |n| %(key#{n}: ["key#{n}!", "shared"]) }, answers
    end
  end

  def test_they_travel_as_bytes
    calls = columns(:say, [["1", nil, "ü"], ["k" * 255, "x" * 70_000, ""]], texts: 2, arguments: [:a, nil])
    back = there_and_back(calls)
    assert_equal [calls[0], calls[1], 2], [back[0], back[1], back.size]
    bytes = calls.send(:pack)
    [bytes[0..-2], "#{bytes}x", bytes.sub("ü".b, "\xff".b * 2), "\xff\xff\xff\xff".b, "", "\1\0\0\0\0".b].each do |damaged|
      assert_match(/damaged/, assert_raises(ArgumentError) { Columns.send(:unpack, :say, 2, [], damaged) }.message)
    end
  end

  # A key of another encoding would have been another entity: two of one, in one worker.
  def test_a_key_keeps_its_encoding_on_the_way
    calls = columns(:say, [["ü", "a"], ["\xff".b, "b"], ["plain", "c"]])
    back = there_and_back(calls)
    assert_equal [["ü", Encoding::UTF_8], ["\xff".b, Encoding::BINARY], ["plain", Encoding::UTF_8]], Array.new(3) { |n| [back.key(n), back.key(n).encoding] }
    assert(Array.new(3) { |n| back.key(n) }.all?(&:frozen?))
    assert_match(/UTF-8/, assert_raises(ArgumentError) { calls.add("ü".encode("ISO-8859-1"), "a") }.message)
  end

  def test_what_cannot_be_called_is_refused
    Elah.run do
      assert_raises(NoMethodError) { scribes.call_many(columns(:hide, [["1", "a"]])) }
      assert_raises(NoMethodError) { scribes.call_many(columns(:restore, [["1"]], texts: 0)) }
      assert_instance_of ArgumentError, scribes.call_many(columns(:refuse, [["1"]], texts: 0)).first
    end
    calls = Columns.of(:say, texts: 1)
    { ["1"] => /a key and 1 texts/, %w[1 a b] => /1 texts/, ["", "a"] => /1 to 255 bytes/, ["k" * 256, "a"] => /1 to 255/, [1, "a"] => /a String/,
      %W[1 \xff] => /valid UTF-8/, ["1", "a".encode("UTF-16LE")] => /valid UTF-8/ }.each do |call, message|
      assert_match(message, assert_raises(ArgumentError, call.inspect) { calls.add(*call) }.message)
    end
    assert_raises(TypeError) { calls.add("1", 2) }
    assert_raises(ArgumentError) { Columns.of(:say, texts: 5) }
    assert_raises(TypeError) { Columns.of("say", texts: 1) }
    assert_raises(IndexError) { calls.values_at(0) }
    assert_equal 0, calls.size
  end
end
