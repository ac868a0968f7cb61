# frozen_string_literal: true

require "test_helper"

# The header Prefer as RFC 7240 has it.
class SinkPreferenceTest < Minitest::Test
  PARSED = {
    nil => {},
    "" => {},
    "durability=disk" => { "durability" => "disk" },
    "respond-async, Durability = \"disk\" ; x=1, wait=5" =>
      { "respond-async" => "", "durability" => "disk", "wait" => "5" },
    "durability=disk, durability=memory" => { "durability" => "disk" },
    "note=\"a, b \\\" c\", wait=1" => { "note" => "a, b \" c", "wait" => "1" },
    ",, =x, wait" => { "wait" => "" }
  }.freeze

  def test_headers_are_read
    PARSED.each { |header, expected| assert_equal(expected, Elah::Sink::Preference.parse(header), header) }
  end

  def test_a_preference_becomes_what_push_takes
    of = Elah::Sink::Preference.method(:of)
    assert_equal({ durability: :memory }, of.call(nil))
    assert_equal({ durability: :disk }, of.call(nil, default: :disk))
    assert_equal({ durability: :disk }, of.call("durability=eternal", default: :disk))
    assert_equal({ durability: :delivered, wait_seconds: 5 }, of.call("durability=delivered, wait=5"))
    assert_equal({ durability: :delivered, wait_seconds: 30 }, of.call("durability=delivered, wait=9999"))
    assert_equal({ durability: :disk }, of.call("durability=delivered, wait=x", max: :disk))
  end

  def test_a_header_that_is_too_long_says_nothing
    assert_equal({ "durability" => "disk" }, Elah::Sink::Preference.parse("durability=disk".ljust(1024)))
    assert_equal({}, Elah::Sink::Preference.parse("durability=disk".ljust(1025)))
  end
end
