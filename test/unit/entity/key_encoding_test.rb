# frozen_string_literal: true

require "test_helper"
require "support/entity_case"

# Of the key of an entity only the bytes count: a String of the same bytes in another encoding names the same entity, in
# this worker and in another. Two objects for one key would each write over what the other has stored. What an entity
# reads of its state has the encoding of what it wrote, if that was text.
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

  # Takes each guest once.
  class Room < Elah::Entity
    entity_name "encoded_rooms"
    index :guests

    def restore = @guests = state.each.to_h

    def enter(guest)
      return :already_in if @guests.key?(guest)

      index(:guests).put("#{guest}/", guest)
      state.put(guest, guest)
      @guests[guest] = guest
    end

    def found
      { memory: @guests.to_a.sort_by { |entry| entry.first.b }, range: state.range, each: state.each(batch: 1).to_a,
        get: @guests.keys.map { |guest| state.get(guest) }.sort_by(&:b),
        rows: index(:guests).range, each_row: index(:guests).each(batch: 1).to_a,
        row: @guests.keys.map { |guest| index(:guests).get("#{guest}/") }.sort_by(&:b),
        none: [state.get("x"), index(:guests).get("x")] }
    end
  end

  # Values were UTF-8 until their entity was restored and binary afterwards: the guest "Zoë" was let in a second time.
  def test_what_an_entity_reads_is_what_it_wrote_also_after_a_restart
    guests = ["Ann", "Zoë", TEXT, BYTES].sort_by(&:b)
    pairs = guests.map { |guest| [guest, guest] }
    rows = guests.map { |guest| ["#{guest}/", guest] }
    expected = { memory: pairs, range: pairs, each: pairs, get: guests,
                 rows: rows, each_row: rows, row: guests, none: [nil, nil] }

    rooms = Room.in(@store)
    guests.each { |guest| assert_equal guest, rooms["red"].enter(guest) }
    assert_found expected, rooms["red"]
    rooms.flush
    rooms.reset
    assert_found expected, rooms["red"]
    @store.close
    assert_found expected, Room.in(@store = open_again)["red"]
  end

  def test_a_table_of_an_index_is_binary
    rooms = Room.in(@store)
    rooms["red"].enter("Zoë")
    row = rooms.index(:guests).range.first
    assert_equal [["Zoë/".b, "Zoë".b], [Encoding::BINARY] * 2], [row, row.map(&:encoding)]
  end

  private

  def assert_found(expected, room)
    found = room.found
    assert_equal expected, found
    assert_equal encodings(expected), encodings(found)
    expected[:get].each { |guest| assert_equal :already_in, room.enter(guest) }
  end

  def encodings(found) = found.transform_values { |texts| texts.flatten.compact.map(&:encoding) }
end
