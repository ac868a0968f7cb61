# frozen_string_literal: true

require_relative "../test_helper"
require "bigdecimal"

# Ruby values as BSON and back.
class MongoBsonTest < Minitest::Test
  Mongo = Elah::Mongo
  INVALID = Mongo::InvalidValue

  def test_every_kind_of_value_comes_back
    document = { "text" => "Ü\u0000x", "int32" => -(2**31), "int64" => 2**31, "least" => -(2**63),
                 "most" => (2**63) - 1, "float" => 0.1, "true" => true, "false" => false, "nil" => nil,
                 "bytes" => "\xFF\x00".b, "id" => Mongo::ObjectId.generate, "pattern" => /a.b\/Ü/mix,
                 "decimal" => BigDecimal("-12.50"), "array" => [1, [2, { "a" => [] }]], "empty" => {},
                 "infinite" => -Float::INFINITY }
    assert_equal document, round_trip(document)
    assert_equal document.keys, round_trip(document).keys
    assert_predicate round_trip("nan" => Float::NAN)["nan"], :nan?
  end

  def test_kinds_have_the_bytes_of_the_specification
    assert_equal "\x05\0\0\0\0".b, Mongo.to_bson({})
    assert_equal "\x0C\0\0\0\x10a\0\x01\0\0\0\0".b, Mongo.to_bson({ a: 1 })
    assert_equal "\x10\0\0\0\x12a\0\0\0\0\x80\0\0\0\0\0".b, Mongo.to_bson({ "a" => 2**31 })
    assert_equal "\x11\0\0\0\x04a\0\x09\0\0\0\x080\0\x01\0\0".b, Mongo.to_bson({ a: [true] })
    assert_equal "\x0E\0\0\0\x02a\0\x02\0\0\0b\0\0".b, Mongo.to_bson({ a: :b })
    assert_equal "\x0F\0\0\0\x05a\0\x02\0\0\0\0\xFF\0\0".b, Mongo.to_bson({ a: "\xFF\0".b })
  end

  def test_times_are_utc_to_the_millisecond
    time = Time.at(-1, 999_900, :usec, in: "+02:00")
    read = round_trip("at" => time)["at"]
    assert_equal [Time.at(0, -1, :millisecond), true], [read, read.utc?]
    assert_equal Time.utc(2030, 1, 2, 3, 4, 5.25r), round_trip("at" => Time.utc(2030, 1, 2, 3, 4, 5.25r))["at"]
  end

  def test_symbols_and_other_encodings_become_utf8_text
    read = round_trip(name: :sling, "latin" => "\xFC".dup.force_encoding(Encoding::ISO_8859_1),
                      "wide" => "ü".encode("UTF-16LE"))
    assert_equal({ "name" => "sling", "latin" => "ü", "wide" => "ü" }, read)
    assert_equal [Encoding::UTF_8], read.values.map(&:encoding).uniq
  end

  def test_what_has_no_form_is_refused_by_its_place
    refused("a.1.b is a Object, which has no form in BSON; known are Hash", { a: [1, { b: Object.new }] })
    refused("n is 9223372036854775808; an Integer is from -9223372036854775808 to 9223372036854775807", { n: 2**63 })
    refused("t is no valid text", { t: "\xFF" })
    refused("The document has a key that is not valid UTF-8", { "\xFF" => 1 })
    refused('a has the key "x\0"; a key has no NUL', { a: { "x\0" => 1 } })
    refused("a has the key 1; keys are Strings or Symbols", { a: { 1 => 1 } })
    refused("d is 0.12345678901234567890123456789012345e35; a decimal number has at most 34 digits",
            { d: BigDecimal("12345678901234567890123456789012345") })
    refused("r is a Regexp with a NUL", { r: Regexp.new("a\0b") })
  end

  def test_bounds_of_depth_and_size
    deep = 90.times.inject({}) { |inner, _| { a: inner } }
    assert_equal Mongo.to_bson(deep), Mongo.to_bson(round_trip(deep))
    refused("The document is nested more than 100 levels deep",
            200.times.inject({}) { |inner, _| [inner] }.then { |inner| { a: inner } })
    refused("The document has 16777229 bytes; it may have 16777216", { a: "x" * 2**24 })
  end

  def test_an_endless_document_is_refused
    endless = {}
    endless[:a] = endless
    assert_raises(INVALID, SystemStackError) { Mongo.to_bson(endless) }
  end

  def test_broken_bytes_are_refused_and_nothing_worse
    whole = Mongo.to_bson({ a: [1, { b: "text" }], c: "\x00\x01".b, d: /x/, e: 1.5, f: Mongo::ObjectId.generate })
    whole.bytesize.times do |length|
      assert_raises(Mongo::InvalidReply) { Mongo.from_bson(whole.byteslice(0, length)) }
    end
    random = Random.new(7)
    2000.times do
      broken = whole.dup
      broken.setbyte(random.rand(broken.bytesize), random.rand(256))
      begin
        assert_kind_of Hash, Mongo.from_bson(broken)
      rescue Mongo::InvalidReply
        next
      end
    end
  end

  # It raised a RegexpError, which no list of the client's errors has.
  def test_a_pattern_that_ruby_cannot_read_is_an_invalid_reply
    error = assert_raises(Mongo::InvalidReply) { Mongo.from_bson("\x0B\0\0\0\x0Ba\0(\0\0\0".b) }
    assert_includes error.message, "a regular expression that Ruby cannot read"
  end

  def test_old_kinds_are_read
    assert_equal({ "a" => nil }, Mongo.from_bson("\x08\0\0\0\x06a\0\0".b))
    assert_equal({ "a" => "b" }, Mongo.from_bson("\x0E\0\0\0\x0Ea\0\x02\0\0\0b\0\0".b))
    assert_equal({ "a" => (5 << 32) + 1 }, Mongo.from_bson("\x10\0\0\0\x11a\0\x01\0\0\0\x05\0\0\0\0".b))
    error = assert_raises(Mongo::InvalidReply) { Mongo.from_bson("\x08\0\0\0\xFFa\0\0".b) }
    assert_includes error.message, "MinKey"
  end

  def test_documents_survive_a_collection_of_garbage
    list = Array.new(200) { |index| { "n" => index, "text" => "x" * index, "id" => Mongo::ObjectId.generate } }
    document = { "list" => list }
    GC.stress = true
    read = round_trip(document)
    GC.stress = false
    assert_equal document, read
  ensure
    GC.stress = false
  end

  def test_object_ids_are_values
    id = Mongo::ObjectId.generate
    same = Mongo::ObjectId.from_string(id.to_s)
    assert_equal [id, id.hash, 1], [same, same.hash, [id, same].uniq.size]
    assert_predicate same, :frozen?
    assert_match(/\A\h{24}\z/, id.to_s)
    assert_in_delta Time.now, id.time, 5
    assert_operator id, :<, Mongo::ObjectId.generate
    refute_equal id, id.to_s
    assert_raises(INVALID) { Mongo::ObjectId.from_string("xyz") }
    assert_raises(INVALID) { Mongo::ObjectId.new("short") }
  end

  def test_a_forked_process_makes_other_ids
    Mongo::ObjectId.generate
    reader, writer = IO.pipe
    pid = fork { writer.write(Array.new(100) { Mongo::ObjectId.generate }.join(" ")) }
    writer.close
    own = Array.new(100) { Mongo::ObjectId.generate.to_s }
    assert_empty own & reader.read.split
    Process.wait(pid)
  end

  private

  def round_trip(document) = Mongo.from_bson(Mongo.to_bson(document))

  def refused(sentence, document)
    error = assert_raises(INVALID) { Mongo.to_bson(document) }
    assert_includes error.message, sentence
  end
end
