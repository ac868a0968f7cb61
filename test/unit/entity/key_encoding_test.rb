# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# Of the key of an entity only the bytes count: a String of the same bytes in another encoding names the same entity, in
# this worker and in another. Two objects for one key would each write over what the other has stored.
class EntityKeyEncodingTest < EntityCase
  TEXT = "𝛑 größe 日本 🎉"
  BYTES = "\xFF\x00\xF0".b

  # Counts, and says under which key.
  class Tally < Elah::Entity
    entity_name "encoded_tallies"

    def restore = @count = state.get("größe".b).to_i

    def add
      state.put("größe", (@count += 1).to_s)
      [@count, key, key.encoding]
    end
  end

  def spellings(text)
    [text, text.b, text.dup.force_encoding(Encoding::UTF_8), text.dup.force_encoding(Encoding::UTF_16LE)]
  end

  def test_strings_of_the_same_bytes_name_one_entity
    tallies = Tally.in(@store)
    { TEXT => Encoding::UTF_8, BYTES => Encoding::BINARY, "plain" => Encoding::UTF_8 }.each do |text, encoding|
      found = spellings(text).map { |key| tallies[key].add }
      assert_equal [1, 2, 3, 4], found.map(&:first)
      assert_equal [[text, encoding]], found.map { |_, key, kind| [key, kind] }.uniq
    end
    assert_equal 3, tallies.size
    tallies.flush
    tallies.reset
    assert_equal 5, tallies[TEXT.b].add.first
  end

  def test_many_calls_at_once_name_one_entity
    tallies = Tally.in(@store)
    Elah.run do
      assert_equal [1, 2, 3, 4], tallies.call_many(spellings(TEXT).map { |key| [key, :add] }).map(&:first)
      results = Elah.gather do |gather|
        spellings(TEXT).each_with_index { |key, index| gather.call(index, tallies[key].deferred.add) }
      end
      assert_equal [5, 6, 7, 8], results.map { |result| result.value.first }
    end
    assert_equal 1, tallies.size
  end

  def test_a_key_that_the_caller_changes_is_the_entitys_own
    tallies = Tally.in(@store)
    key = +"ö"
    tallies[key].add
    key << "x"
    assert_equal [2, "ö"], tallies["ö"].add.first(2)
  end
end
